#include <algorithm>
#include <cstring>

#include "image/probe.h"

namespace packhorse::probe {

namespace {

constexpr std::uint32_t kSos = 0xda, kEoi = 0xd9, kTem = 0x01, kApp1 = 0xe1;

bool is_start_of_frame(std::uint32_t marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

bool is_progressive(std::uint32_t start_of_frame) { return (start_of_frame & 3) == 2; }

bool stands_alone(std::uint32_t marker) {
  return marker == kTem || (marker >= 0xd0 && marker <= 0xd8);
}

/// Entropy-coded data cannot hold the bytes FF D9, so the last of them after the scan's start is
/// its end. The search runs from the back: bytes after the end (padding, appended data) are common
/// and harmless.
bool has_end_mark(Bytes file, std::size_t scan) {
  for (std::size_t i = file.size(); i >= scan + 2; --i) {
    if (file[i - 1] == std::byte{kEoi} && file[i - 2] == std::byte{0xff}) return true;
  }
  return false;
}

/// Counts the scans. `at` is where the first scan's segment has its length. Passes over what a
/// decoder would: segments between scans, and bytes that are no marker.
std::uint32_t count_scans(Bytes file, std::size_t at) {
  const Cursor data(file);
  std::uint32_t scans = 0;
  for (std::uint32_t marker = kSos; marker != kEoi;) {
    if (marker != 0 && !stands_alone(marker)) {
      scans += marker == kSos ? 1 : 0;
      at += data.u16(at).value_or(0);
    }
    if (at >= file.size()) break;
    const void* next = std::memchr(file.data() + at, 0xff, file.size() - at);
    if (next == nullptr) break;
    at = static_cast<std::size_t>(static_cast<const std::byte*>(next) - file.data());
    while (data.u8(at) == 0xffu) ++at;
    marker = data.u8(at++).value_or(kEoi);
  }
  return scans;
}

/// Two bytes for each coefficient of whole MCUs. `components`: as the frame segment lists them.
std::uint64_t coefficient_bytes(const ImageInfo& info, const Cursor& data, std::size_t components) {
  std::uint64_t h_max = 1, v_max = 1, blocks = 0;
  for (std::size_t c = 0; c < info.components; ++c) {
    const std::uint32_t factors = data.u8(components + 3 * c + 1).value_or(0);
    const std::uint64_t h = factors >> 4, v = factors & 15;
    h_max = std::max(h_max, h);
    v_max = std::max(v_max, v);
    blocks += h * v;
  }
  const auto mcus = [](std::uint64_t pixels, std::uint64_t blocks_each) {
    return (pixels + 8 * blocks_each - 1) / (8 * blocks_each);
  };
  return mcus(info.width, h_max) * mcus(info.height, v_max) * blocks * 64 * 2;
}

}  // namespace

ProbeResult jpeg(Bytes file) {
  const Cursor data(file);
  ImageInfo info;
  std::size_t components = 0;  // where the frame segment lists them
  bool progressive = false;
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
      components = at + 8;
      progressive = is_progressive(marker);
      if (info.components == 0 || info.components > 4 || length != 8 + 3u * info.components) {
        return refuse("damaged header: bad frame segment");
      }
    } else if (marker == kSos) {
      if (components == 0) return refuse("damaged header: a scan before any frame");
      if (!has_end_mark(file, at + length)) return refuse("truncated: no end-of-image marker");
      DecodeCost cost;
      if (progressive || data.u8(at + 2) != info.components) {
        cost = {count_scans(file, at), coefficient_bytes(info, data, components)};
      }
      return accept(info, cost);
    }
    at += length;
  }
}

}  // namespace packhorse::probe
