#include "codecs/codec.h"
#include "codecs/cursor.h"

namespace packhorse::codecs {

namespace {

/// ISO/IEC 15948, table 11.1: bits allowed by colour type.
bool allows(std::uint32_t colour_type, unsigned bits) {
  switch (colour_type) {
    case 0:
      return bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16;
    case 3:
      return bits == 1 || bits == 2 || bits == 4 || bits == 8;
    default:
      return bits == 8 || bits == 16;
  }
}

/// What IHDR says.
struct Shape {
  ImageInfo info;
  std::uint32_t colour_type = 0;
  bool interlaced = false;
};

PixelLayout layout_of(const Shape& shape, bool transparent_colour) {
  PixelLayout layout;
  const bool grey = shape.colour_type == 0 || shape.colour_type == 4;
  const bool alpha = shape.colour_type >= 4 || transparent_colour;
  layout.model = grey ? ColourModel::kGrey : ColourModel::kRgb;
  layout.alpha = alpha ? Alpha::kStraight : Alpha::kNone;
  layout.channels = static_cast<std::uint8_t>((grey ? 1 : 3) + (alpha ? 1 : 0));
  layout.bits = shape.info.bit_depth == 16 ? 16 : 8;
  return layout;
}

}  // namespace

ProbeResult read_png_header(Bytes file, bool cut) {
  const Cursor data(file);
  Shape shape;
  ImageInfo& info = shape.info;
  std::uint32_t pictures = 1;
  bool pixels_seen = false, transparent_colour = false;
  for (std::size_t at = 8;;) {
    const std::optional<std::uint32_t> length = data.u32(at);
    const bool whole = length && data.piece(at + 8, std::size_t{*length} + 4);
    const bool pixels = data.has(at + 4, "IDAT");
    if (!whole && !(cut && pixels)) return refuse("truncated: no IEND chunk");
    if (at == 8) {
      if (!data.has(at + 4, "IHDR") || *length != 13)
        return refuse("damaged header: no IHDR chunk");
      info.width = *data.u32(16);
      info.height = *data.u32(20);
      info.bit_depth = narrow(*data.u8(24));
      shape.colour_type = *data.u8(25);
      shape.interlaced = *data.u8(28) != 0;
      constexpr std::uint8_t kComponents[] = {1, 0, 3, 3, 2, 0, 4};
      if (shape.colour_type >= std::size(kComponents) || kComponents[shape.colour_type] == 0)
        return refuse("damaged header: unknown colour type");
      if (*data.u8(26) != 0 || *data.u8(27) != 0 || *data.u8(28) > 1)
        return refuse("damaged header: methods that PNG does not have");
      if (!allows(shape.colour_type, info.bit_depth))
        return refuse("damaged header: bits that its colour type does not have");
      info.components = kComponents[shape.colour_type];
    } else if (pixels) {
      pixels_seen = true;
    } else if (data.has(at + 4, "tRNS")) {
      transparent_colour = true;
    } else if (data.has(at + 4, "acTL") && !pixels_seen) {
      pictures = data.u32(at + 8).value_or(1);
    } else if (data.has(at + 4, "fcTL") && !pixels_seen) {
      // The first frame of an animation is the picture, so it must be as large.
      if (data.u32(at + 12) != info.width || data.u32(at + 16) != info.height ||
          data.u32(at + 20) != 0u || data.u32(at + 24) != 0u)
        return refuse("damaged: its first frame is not the whole picture");
    } else if (data.has(at + 4, "eXIf")) {
      info.orientation = exif_orientation(*data.piece(at + 8, *length));
    }
    if (data.has(at + 4, "IEND") || !whole) {
      if (!pixels_seen) return refuse("damaged: no pixels in it");
      const PixelLayout layout = layout_of(shape, transparent_colour);
      return accept(info, layout, {1, shape.interlaced ? decoded_bytes(info, layout) : 0},
                    pictures);
    }
    at += std::size_t{*length} + 12;
  }
}

}  // namespace packhorse::codecs
