#include "image_probe.h"

namespace packhorse::probe {

namespace {

constexpr std::uint32_t kSos = 0xda, kEoi = 0xd9, kTem = 0x01, kApp1 = 0xe1;

bool is_start_of_frame(std::uint32_t marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

bool stands_alone(std::uint32_t marker) {
  return marker == kTem || (marker >= 0xd0 && marker <= 0xd8);
}

/// Entropy-coded data cannot hold the bytes FF D9, so the last of them after the scan's start is
/// its end. Searched from the back: bytes after it (padding, appended data) are common and
/// harmless.
bool has_end_mark(Bytes file, std::size_t scan) {
  for (std::size_t i = file.size(); i >= scan + 2; --i) {
    if (file[i - 1] == std::byte{kEoi} && file[i - 2] == std::byte{0xff}) return true;
  }
  return false;
}

}  // namespace

ProbeResult jpeg(Bytes file) {
  const Cursor data(file);
  ImageInfo info;
  bool frame_seen = false;
  for (std::size_t at = 2;;) {
    if (data.u8(at) != 0xffu) {
      return refuse(at < data.size() ? "damaged header: no marker at byte " + std::to_string(at)
                                     : "truncated: the file ends in the header");
    }
    while (data.u8(at + 1) == 0xffu) ++at;  // fill bytes
    const std::uint32_t marker = data.u8(at + 1).value_or(0);
    at += 2;
    if (stands_alone(marker)) continue;
    if (marker == kEoi || marker == 0) {
      return refuse(at <= data.size() && marker == kEoi ? "damaged: it ends before any picture"
                                                        : "damaged header: bad marker");
    }
    const std::uint32_t length = data.u16(at).value_or(0);
    const std::optional<Bytes> segment = data.piece(at, length);
    if (length < 2) return refuse("damaged header: bad segment length");
    if (!segment) return refuse("truncated: a segment reaches beyond the end of the file");
    if (marker == kApp1 && data.has(at + 2, std::string_view("Exif\0\0", 6)) &&
        info.orientation == 1 && length > 8) {
      info.orientation = exif_orientation(segment->subspan(8));
    } else if (is_start_of_frame(marker)) {
      if (length < 8) return refuse("damaged header: frame segment too short");
      info.bit_depth = static_cast<std::uint8_t>(*data.u8(at + 2));
      info.height = *data.u16(at + 3);
      info.width = *data.u16(at + 5);
      info.components = static_cast<std::uint8_t>(*data.u8(at + 7));
      frame_seen = true;
      if (info.components == 0 || info.components > 4 || length != 8 + 3u * info.components) {
        return refuse("damaged header: bad frame segment");
      }
    } else if (marker == kSos) {
      if (!frame_seen) return refuse("damaged header: a scan before any frame");
      if (!has_end_mark(file, at + length)) return refuse("truncated: no end-of-image marker");
      return accept(info);
    }
    at += length;
  }
}

}  // namespace packhorse::probe
