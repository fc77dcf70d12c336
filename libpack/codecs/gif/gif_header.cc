#include "codecs/gif/gif_header.h"

#include <algorithm>

namespace packhorse::codecs {

namespace gif {

namespace {

constexpr std::uint32_t kImage = 0x2c, kExtension = 0x21, kTrailer = 0x3b, kGraphicControl = 0xf9;
constexpr std::size_t kScreen = 6, kAfterScreen = 13;

/// Bytes of the colour table that the flags announce.
std::size_t table_bytes(std::uint32_t flags) {
  return (flags & 0x80) != 0 ? std::size_t{3} << ((flags & 7) + 1) : 0;
}

/// Passes over sub-blocks to behind the empty one; false at the end of the file.
bool skip_blocks(const Cursor& data, std::size_t& at) {
  for (;;) {
    const std::optional<std::uint32_t> length = data.u8(at);
    if (!length) return false;
    at += 1 + std::size_t{*length};
    if (*length == 0) return true;
  }
}

}  // namespace

std::optional<Header> read(const Cursor& data, std::string& reason) {
  reason = "truncated: its blocks reach beyond the end of the file";
  if (!data.piece(0, kAfterScreen)) return std::nullopt;
  Header header;
  header.width = *data.u16(kScreen);
  header.height = *data.u16(kScreen + 2);
  std::size_t at = kAfterScreen + table_bytes(*data.u8(kScreen + 4));
  int transparent = -1;
  for (;;) {
    const std::optional<std::uint32_t> block = data.u8(at++);
    if (!block) return std::nullopt;
    if (*block == kTrailer) break;
    if (*block == kImage) {
      if (!data.piece(at, 9)) return std::nullopt;
      if (header.frames++ == 0) {
        header.width = std::max(header.width, *data.u16(at) + *data.u16(at + 4));
        header.height = std::max(header.height, *data.u16(at + 2) + *data.u16(at + 6));
        header.transparent = transparent;
      }
      at += 10 + table_bytes(*data.u8(at + 8));  // and the size of its codes
    } else if (*block == kExtension) {
      if (data.u8(at) == kGraphicControl && data.u8(at + 1) == 4u)
        transparent = (data.u8(at + 2).value_or(0) & 1) != 0
                          ? static_cast<int>(data.u8(at + 5).value_or(0))
                          : -1;
      ++at;
    } else {
      reason = "damaged: an unknown block";
      return std::nullopt;
    }
    if (!skip_blocks(data, at)) return std::nullopt;
  }
  reason = "damaged: no picture in it";
  if (header.frames == 0) return std::nullopt;
  return header;
}

}  // namespace gif

ProbeResult read_gif_header(Bytes file) {
  std::string reason;
  const std::optional<gif::Header> header = gif::read(Cursor(file, false), reason);
  if (!header) return refuse(std::move(reason));
  const bool alpha = header->transparent >= 0;
  ImageInfo info;
  info.width = header->width;
  info.height = header->height;
  info.components = alpha ? 4 : 3;
  PixelLayout layout;
  if (alpha) layout = {ColourModel::kRgb, Alpha::kStraight, 4, 8};
  return accept(info, layout, {1, decoded_bytes(info, layout)}, header->frames);
}

}  // namespace packhorse::codecs
