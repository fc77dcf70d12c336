#include "codecs/codec.h"
#include "codecs/cursor.h"

namespace packhorse::codecs {

namespace {

/// What the chunks of a file say.
struct Chunks {
  ImageInfo info;
  bool lossless = false, animated = false;
  std::uint32_t frames = 0;  ///< of an animation
};

/// Takes the chunk of `length` bytes whose name is at `at`.
void take_chunk(const Cursor& data, std::size_t at, std::uint32_t length, Bytes body,
                Chunks& chunks) {
  ImageInfo& info = chunks.info;
  if (data.has(at, "VP8X") && length >= 10) {
    const auto size24 = [&](std::size_t where) {
      return 1 + (*data.u16(where) | (*data.u8(where + 2) << 16));
    };
    info.width = size24(at + 12);
    info.height = size24(at + 15);
    if ((*data.u8(at + 8) & 0x10) != 0) info.components = 4;
    chunks.animated = (*data.u8(at + 8) & 0x02) != 0;
  } else if (data.has(at, "VP8 ") && length >= 10 && info.width == 0) {
    info.width = *data.u16(at + 14) & 0x3fff;
    info.height = *data.u16(at + 16) & 0x3fff;
  } else if (data.has(at, "VP8L")) {
    chunks.lossless = true;
    if (length >= 5 && info.width == 0) {
      const std::uint32_t bits = *data.u32(at + 9);
      info.width = 1 + (bits & 0x3fff);
      info.height = 1 + ((bits >> 14) & 0x3fff);
      if ((bits >> 28 & 1) != 0) info.components = 4;
    }
  } else if (data.has(at, "ALPH")) {
    info.components = 4;
  } else if (data.has(at, "ANMF")) {
    ++chunks.frames;
  } else if (data.has(at, "EXIF")) {
    // Some writers keep JPEG's "Exif\0\0" before the TIFF structure.
    const bool prefixed = Cursor(body).has(0, std::string_view("Exif\0\0", 6));
    info.orientation = exif_orientation(body.subspan(prefixed ? 6 : 0));
  }
}

}  // namespace

ProbeResult read_webp_header(Bytes file, bool) {
  const Cursor data(file, false);
  const std::uint64_t riff = data.u32(4).value_or(0);
  if (riff + 8 > file.size()) return refuse("truncated: shorter than its header says");
  Chunks chunks;
  ImageInfo& info = chunks.info;
  info.components = 3;
  for (std::size_t at = 12; at + 8 <= riff + 8;) {
    const std::uint32_t length = data.u32(at + 4).value_or(0);
    const std::optional<Bytes> body = data.piece(at + 8, length);
    if (!body) return refuse("truncated: a chunk reaches beyond the end of the file");
    take_chunk(data, at, length, *body, chunks);
    at += 8 + std::size_t{length} + (length & 1);
  }
  if (info.width == 0) return refuse("damaged header: no picture chunk");
  if (chunks.animated && chunks.frames == 0) return refuse("damaged: an animation of no frames");
  // The frames of an animation are drawn onto a canvas of four channels, two of which are kept.
  const bool alpha = info.components == 4;
  PixelLayout layout;
  layout.alpha = alpha ? Alpha::kStraight : Alpha::kNone;
  layout.channels = alpha ? 4 : 3;
  const std::uint64_t pixel = layout.channels + (chunks.animated ? 8u : chunks.lossless ? 4u : 0u);
  return accept(info, layout, {1, product(product(info.width, info.height), pixel)},
                chunks.animated ? chunks.frames : 1);
}

}  // namespace packhorse::codecs
