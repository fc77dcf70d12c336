#include "codecs/bmp/bmp_header.h"

#include <algorithm>
#include <bit>

namespace packhorse::codecs {

namespace bmp {

namespace {

constexpr std::size_t kFileHeader = 14, kCoreHeader = 12, kInfoHeader = 40, kV3Header = 56,
                      kOs2Header = 64;

/// A mask is one stretch of bits.
bool is_stretch(std::uint32_t mask) {
  return mask == 0 || std::has_single_bit((mask >> std::countr_zero(mask)) + std::uint64_t{1});
}

/// What nothing here decodes; empty for all else.
std::string unsupported(const Header& header, std::uint32_t header_bytes) {
  std::string bits = "BMP of " + std::to_string(header.bits) + " bits";
  const std::uint32_t compression = header.compression;
  if (header_bytes == kOs2Header && compression > kRuns4)
    return "BMP of OS/2's compression " + std::to_string(compression);
  switch (compression) {
    case kPlain:
      break;
    case kRuns8:
      return header.bits == 8 ? "" : bits + " with runs of 8";
    case kRuns4:
      return header.bits == 4 ? "" : bits + " with runs of 4";
    case kMasks:
    case kAlphaMasks:
      return header.bits == 16 || header.bits == 32 ? "" : bits + " with masks";
    case 4:
    case 5:
      return compression == 4 ? "JPEG in a BMP" : "PNG in a BMP";
    default:
      return "BMP of the compression " + std::to_string(compression);
  }
  for (const std::uint32_t known : {1u, 4u, 8u, 16u, 24u, 32u})
    if (header.bits == known) return {};
  return bits;
}

/// The masks of 16 and 32 bits, and where the palette begins.
void read_masks(const Cursor& data, std::uint32_t header_bytes, Header& header) {
  header.palette = kFileHeader + header_bytes;
  if (header.bits == 16) header.masks = {0x7c00, 0x3e0, 0x1f, 0};
  if (header.bits == 32) header.masks = {0xff0000, 0xff00, 0xff, 0};
  if (header.compression != kMasks && header.compression != kAlphaMasks) return;
  const bool inside = header_bytes > kInfoHeader;
  const bool alpha = inside ? header_bytes >= kV3Header : header.compression == kAlphaMasks;
  for (std::size_t i = 0; i < 4; ++i)
    header.masks[i] = i < 3 || alpha ? data.u32(kFileHeader + kInfoHeader + 4 * i).value_or(0) : 0;
  if (!inside) header.palette += alpha ? 16 : 12;
}

}  // namespace

std::optional<Header> read(const Cursor& data, ProbeResult& refusal) {
  const std::uint32_t header_bytes = data.u32(kFileHeader).value_or(0);
  Header header;
  std::uint32_t colours = 0;
  if (header_bytes == kCoreHeader && data.u16(24)) {
    header.width = *data.u16(18);
    header.height = *data.u16(20);
    header.bits = *data.u16(24);
    header.palette_entry = 3;
  } else if (header_bytes >= kInfoHeader && data.piece(kFileHeader, header_bytes)) {
    header.width = *data.u32(18);
    const auto height = static_cast<std::int32_t>(*data.u32(22));
    header.from_top = height < 0;
    header.height =
        height < 0 ? 0u - static_cast<std::uint32_t>(height) : static_cast<std::uint32_t>(height);
    header.bits = *data.u16(28);
    header.compression = *data.u32(30);
    colours = *data.u32(46);
  } else {
    refusal = refuse("damaged header: unknown BMP header");
    return std::nullopt;
  }
  if (const std::string what = unsupported(header, header_bytes); !what.empty()) {
    refusal = refuse_kind(what);
    return std::nullopt;
  }
  read_masks(data, header_bytes, header);
  const bool masked = header.bits == 16 || header.bits == 32;
  const auto colours_end = header.masks.begin() + 3;
  if (!std::ranges::all_of(header.masks, is_stretch) ||
      (masked && std::find(header.masks.begin(), colours_end, 0u) != colours_end)) {
    refusal = refuse("damaged header: the mask of a colour is empty or has gaps");
    return std::nullopt;
  }
  if (header.has_palette()) {
    const std::uint32_t most = 1u << header.bits;
    header.palette_stated = colours == 0 ? most : std::min(colours, most);
  }
  header.pixels = data.u32(10).value_or(0);
  header.row_bytes = (std::uint64_t{header.width} * header.bits + 31) / 32 * 4;
  const std::uint64_t pixels = header.has_runs() ? 1 : product(header.row_bytes, header.height);
  if (header.pixels < header.palette) {
    refusal = refuse("damaged header: its pixels begin inside it");
    return std::nullopt;
  }
  // A palette may be cut short by the pixels, which must do with what is left.
  header.palette_colours =
      std::min(header.palette_stated, (header.pixels - header.palette) / header.palette_entry);
  if (header.has_palette() && header.palette_colours == 0) {
    refusal = refuse("damaged header: its pixels lie where its palette should be");
    return std::nullopt;
  }
  const std::uint64_t palette = header.palette_entry * header.palette_colours;
  if (header.width > 0x7fffffffu || !data.piece(header.pixels, pixels) ||
      !data.piece(header.palette, palette)) {
    refusal = refuse("truncated: its pixels reach beyond the end of the file");
    return std::nullopt;
  }
  return header;
}

}  // namespace bmp

ProbeResult read_bmp_header(Bytes file, bool) {
  ProbeResult refusal;
  const std::optional<bmp::Header> header = bmp::read(Cursor(file, false), refusal);
  if (!header) return refusal;
  ImageInfo info;
  info.width = header->width;
  info.height = header->height;
  info.components = header->bits == 32 ? 4 : 3;
  PixelLayout layout;
  if (header->has_alpha()) layout = {ColourModel::kRgb, Alpha::kStraight, 4, 8};
  return accept(info, layout, {1, header->has_runs() ? product(info.width, info.height) : 0});
}

}  // namespace packhorse::codecs
