#include "jpeg/decode/segments.h"

#include <algorithm>
#include <cstring>

namespace packhorse::jpeg {

namespace {

constexpr std::uint8_t kRst0 = 0xd0, kEoi = 0xd9;

// A segment may come in parts. kPart is their size, kLittle is how little must be left to ask for
// the next one, and kBehind is how many used bytes stay, since some of their bits may be given
// back.
constexpr std::size_t kPart = 32768, kLittle = 16 * kMcuBytes, kBehind = 16;
constexpr std::size_t kOpenBytes = kBehind + kLittle + kPart + kSegmentPadding + kKernelSlack;

std::uint32_t little32(Bytes bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;)
    value = value << 8 | std::to_integer<std::uint32_t>(bytes[at + i]);
  return value;
}

}  // namespace

Segments::Segments(Bytes file, const Frame& frame, const Kernels& kernels,
                   Buffer<std::uint8_t>& memory)
    : frame_(frame),
      kernels_(kernels),
      scan_(reinterpret_cast<const std::uint8_t*>(file.data()) + frame.scan),
      at_(scan_),
      end_(reinterpret_cast<const std::uint8_t*>(file.data()) + file.size()),
      memory_(memory),
      interval_(frame.restart_interval != 0 ? frame.restart_interval : frame.mcus()),
      count_((frame.mcus() - 1) / interval_ + 1) {}

bool Segments::end_segment(const std::uint8_t* stop) {
  const auto marker = static_cast<std::uint8_t>(next_ + 1 == count_ ? kEoi : kRst0 + (next_ & 7));
  if (end_ - stop < 2 || stop[1] != marker) return false;
  at_ = stop + 2;
  ++next_;
  return true;
}

bool Segments::go_to(std::uint32_t index) {
  while (next_ < index) {
    if (!end_segment(kernels_.find_marker(at_, end_))) return false;
  }
  return true;
}

/// Where the RoiTable says that a row begins; null when that cannot be right.
const std::uint8_t* Segments::row_by_table(std::uint32_t row, std::uint32_t index) const {
  if (frame_.row_offsets.empty() || row == 0) return nullptr;
  const std::uint32_t offset = little32(frame_.row_offsets, std::size_t{4} * row);
  if (offset < 2 || offset > static_cast<std::size_t>(end_ - scan_)) return nullptr;
  const std::uint8_t* begin = scan_ + offset;
  const bool behind_marker = begin[-2] == 0xff && begin[-1] == kRst0 + ((index - 1) & 7);
  return begin >= at_ && behind_marker ? begin : nullptr;
}

bool Segments::go_to_row(std::uint32_t row) {
  const std::uint32_t index = row * (frame_.mcus_per_row / interval_);
  if (index != next_) {
    if (const std::uint8_t* begin = row_by_table(row, index)) {
      at_ = begin;
      next_ = index;
    }
  }
  return go_to(index);
}

void Segments::clear(std::size_t bytes) {
  used_ = 0;
  room_ = std::min(bytes, static_cast<std::size_t>(end_ - scan_));
  memory_.reserve(room_ + kSegmentPadding + kKernelSlack);
}

bool Segments::take(Segment& segment) {
  std::uint8_t* to = memory_.data() + used_;
  const std::size_t room = std::min(room_ - used_, static_cast<std::size_t>(end_ - at_));
  const Unstuffed copied = kernels_.unstuff(at_, at_ + room, to);
  segment = {to, copied.out};
  used_ += static_cast<std::size_t>(copied.out - to);
  return end_segment(copied.stop);
}

void Segments::limit_reads() { memory_.limit_to(used_ + kSegmentPadding); }

bool Segments::open(OpenSegment& segment) {
  const std::uint8_t* begin = memory_.reserve(kOpenBytes) + kBehind;
  segment = OpenSegment({begin, begin});
  segment.complete = false;
  return feed(segment);
}

bool Segments::feed(OpenSegment& segment) {
  if (segment.complete || segment.end - segment.next >= std::ptrdiff_t{kLittle}) return true;
  std::uint8_t* to = memory_.reserve(kOpenBytes);
  const auto kept = static_cast<std::size_t>(segment.end - segment.next) + kBehind;
  std::memmove(to, segment.next - kBehind, kept);
  const std::uint8_t* limit = at_ + std::min(kPart, static_cast<std::size_t>(end_ - at_));
  const Unstuffed copied = kernels_.unstuff(at_, limit, to + kept);
  segment.next = to + kBehind;
  segment.end = copied.out;
  memory_.limit_to(static_cast<std::size_t>(copied.out - to) + kSegmentPadding);
  // A part may end between the two bytes of ff 00, or of a marker.
  if (limit != end_ && limit - copied.stop <= 1) {
    at_ = copied.stop;
    return true;
  }
  segment.complete = true;
  return end_segment(copied.stop);
}

}  // namespace packhorse::jpeg
