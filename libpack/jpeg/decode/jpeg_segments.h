#pragma once

#include <optional>

#include "packhorse/base/bytes.h"
#include "packhorse/jpeg/roi_layout.h"

/// The marker segments of a JPEG's header. Source: ITU-T T.81 B.1.
namespace packhorse::jpeg {

inline constexpr std::uint8_t kSof0 = 0xc0, kSof1 = 0xc1, kDht = 0xc4, kSoi = 0xd8, kEoi = 0xd9,
                              kSos = 0xda, kDqt = 0xdb, kDri = 0xdd, kRst0 = 0xd0, kApp0 = 0xe0,
                              kApp2 = 0xe2, kCom = 0xfe;

struct Segment {
  std::uint8_t marker = 0;
  Bytes body;           ///< what follows the length
  std::size_t end = 0;  ///< offset in the file of the byte after it
};

constexpr bool is_start_of_frame(std::uint8_t marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

inline bool is_roi_table(std::uint8_t marker, Bytes body) {
  return marker == RoiTable::kMarker && as_text(body).starts_with(RoiTable::kIdentifier);
}

inline std::uint32_t byte_at(Bytes bytes, std::size_t at) {
  return std::to_integer<std::uint32_t>(bytes[at]);
}
inline std::uint32_t big16(Bytes bytes, std::size_t at) {
  return byte_at(bytes, at) << 8 | byte_at(bytes, at + 1);
}

/// Steps through the segments from SOI on; the caller stops at SOS. None at damage.
class SegmentWalk {
 public:
  explicit SegmentWalk(Bytes file) : file_(file) {}

  std::optional<Segment> next() {
    while (at_ + 4 <= file_.size() && byte_at(file_, at_) == 0xff &&
           byte_at(file_, at_ + 1) == 0xff) {
      ++at_;  // fill bytes
    }
    if (at_ + 4 > file_.size() || byte_at(file_, at_) != 0xff) return std::nullopt;
    const std::size_t length = big16(file_, at_ + 2);
    if (length < 2 || length > file_.size() - at_ - 2) return std::nullopt;
    Segment segment{static_cast<std::uint8_t>(byte_at(file_, at_ + 1)),
                    file_.subspan(at_ + 4, length - 2), at_ + 2 + length};
    at_ = segment.end;
    return segment;
  }

 private:
  Bytes file_;
  std::size_t at_ = 2;
};

}  // namespace packhorse::jpeg
