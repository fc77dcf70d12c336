#pragma once

#include <cstdint>
#include <vector>

#include "jpeg/decode/buffer.h"
#include "jpeg/decode/entropy.h"
#include "jpeg/decode/frame.h"
#include "jpeg/kernels/kernels.h"

namespace packhorse::jpeg {

/// Steps through the segments of a scan from front to back, and checks that each ends with the
/// marker that belongs there: RSTn with the right n, EOI after the last. One thread.
class Segments {
 public:
  /// All arguments must outlive this.
  Segments(Bytes file, const Frame& frame, const Kernels& kernels, Buffer<std::uint8_t>& memory);

  /// MCUs in a segment; the last may have fewer.
  std::uint32_t interval() const { return interval_; }
  std::uint32_t next() const { return next_; }

  /// Makes the first segment of an MCU row the next one. With a RoiTable, it does not read the
  /// segments between. Only forwards, and only where rows consist of whole segments.
  bool go_to_row(std::uint32_t row);
  /// Makes segment `index` the next. Only forwards.
  bool go_to(std::uint32_t index);
  /// Makes room for segments of `bytes` bytes, un-stuffed. Those taken before become invalid.
  void clear(std::size_t bytes);
  /// Copies the next segment, un-stuffed, after those copied since clear(). False when it is
  /// damaged, or has more bytes than there is room for.
  bool take(Segment& segment);
  /// Declares that all have been taken: nothing beyond the padding after the last one will be read.
  void limit_reads();

  /// Begins the next segment. It is copied a part at a time, each part to where the one before was.
  bool open(OpenSegment& segment);
  /// Copies the next part when little is left of the last one, so that some MCUs can be decoded.
  bool feed(OpenSegment& segment);

 private:
  bool end_segment(const std::uint8_t* stop);
  const std::uint8_t* row_by_table(std::uint32_t row, std::uint32_t index) const;

  const Frame& frame_;
  const Kernels& kernels_;
  const std::uint8_t *scan_, *at_, *end_;
  Buffer<std::uint8_t>& memory_;
  std::size_t used_ = 0, room_ = 0;  // bytes of the memory
  std::uint32_t interval_, count_, next_ = 0;
};

}  // namespace packhorse::jpeg
