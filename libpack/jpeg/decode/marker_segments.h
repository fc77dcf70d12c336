#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "packhorse/base/bytes.h"

/// The marker segments of a JPEG's header. Source: ITU-T T.81 B.1.
///
///     SegmentWalk walk(file);
///     while (const auto segment = walk.next()) {
///       if (segment->marker == kSos) break;
///     }
namespace packhorse::jpeg {

enum Marker : std::uint8_t {
  kTem = 0x01,
  kSof0 = 0xc0,
  kSof1 = 0xc1,
  kDht = 0xc4,
  kSof9 = 0xc9,
  kDac = 0xcc,
  kSof15 = 0xcf,
  kRst0 = 0xd0,
  kSoi = 0xd8,
  kEoi = 0xd9,
  kSos = 0xda,
  kDqt = 0xdb,
  kDri = 0xdd,
  kApp0 = 0xe0,
  kApp1 = 0xe1,
  kApp2 = 0xe2,
  kApp14 = 0xee,
  kApp15 = 0xef,
  kCom = 0xfe,
};

constexpr bool is_start_of_frame(std::uint8_t marker) {
  return marker >= kSof0 && marker <= kSof15 && marker != kDht && marker != 0xc8 && marker != kDac;
}

/// Whether a segment says where further pictures lie behind the first (CIPA DC-007, MP Index IFD):
/// previews, the gain map of Ultra HDR.
inline bool is_picture_index(std::uint8_t marker, Bytes body) {
  return marker == kApp2 && as_text(body).starts_with(std::string_view("MPF\0", 4));
}

/// Markers without a length or content: TEM, RSTn, SOI, EOI; and 0, which is none.
constexpr bool stands_alone(std::uint8_t marker) {
  return marker <= kTem || (marker >= kRst0 && marker <= kEoi);
}

inline std::uint8_t byte_at(Bytes bytes, std::size_t at) {
  return std::to_integer<std::uint8_t>(bytes[at]);
}
inline std::uint32_t big16(Bytes bytes, std::size_t at) {
  return static_cast<std::uint32_t>(byte_at(bytes, at) << 8 | byte_at(bytes, at + 1));
}

struct Segment {
  std::uint8_t marker = 0;
  Bytes body;             ///< what follows the length; empty where the marker stands alone
  std::size_t begin = 0;  ///< offset in the file of the marker's FF
  std::size_t end = 0;    ///< offset of the byte after it
};

/// Steps through the segments from SOI on; the caller stops at SOS. The first two bytes are taken
/// for SOI whatever they are. Memory: none.
class SegmentWalk {
 public:
  explicit SegmentWalk(Bytes file) : file_(file) {}

  /// Why there is no next segment.
  enum class Stop {
    kNone,
    kNoMarker,   ///< at() is no FF
    kFileEnds,   ///< where a marker should stand
    kBadLength,  ///< below 2, or cut
    kBeyondEnd,  ///< the segment reaches beyond the end of the file
  };

  std::optional<Segment> next() {
    if (at_ >= file_.size()) return stop(Stop::kFileEnds);
    if (byte_at(file_, at_) != 0xff) return stop(Stop::kNoMarker);
    while (at_ + 1 < file_.size() && byte_at(file_, at_ + 1) == 0xff) ++at_;  // fill bytes
    const std::size_t begin = at_;
    const std::uint8_t marker = begin + 1 < file_.size() ? byte_at(file_, begin + 1) : 0;
    if (stands_alone(marker)) {
      at_ = begin + 2;
      return Segment{marker, {}, begin, at_};
    }
    const std::size_t length = begin + 4 <= file_.size() ? big16(file_, begin + 2) : 0;
    if (length < 2) return stop(Stop::kBadLength);
    if (length > file_.size() - begin - 2) return stop(Stop::kBeyondEnd);
    at_ = begin + 2 + length;
    return Segment{marker, file_.subspan(begin + 4, length - 2), begin, at_};
  }

  Stop why() const { return why_; }
  /// Where it looks for the next marker.
  std::size_t at() const { return at_; }

 private:
  std::nullopt_t stop(Stop why) {
    why_ = why;
    return std::nullopt;
  }

  Bytes file_;
  std::size_t at_ = 2;
  Stop why_ = Stop::kNone;
};

}  // namespace packhorse::jpeg
