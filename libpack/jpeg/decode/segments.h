#pragma once

#include <cstdint>
#include <vector>

#include "jpeg/decode/buffer.h"
#include "jpeg/decode/entropy.h"
#include "jpeg/decode/frame.h"
#include "jpeg/kernels/kernels.h"

namespace packhorse::jpeg {

/// Steps through the segments of a scan from front to back, and checks that each ends with the
/// marker that belongs there: RSTn with the right n, EOI behind the last. One thread.
class Segments {
 public:
  /// All must outlive this.
  Segments(Bytes file, const Frame& frame, const Kernels& kernels, Buffer<std::uint8_t>& memory);

  /// MCUs in a segment; the last may have fewer.
  std::uint32_t interval() const { return interval_; }
  std::uint32_t next() const { return next_; }

  /// Makes the first segment of an MCU row the next, without a look at those between where the file
  /// has a RoiTable. Only forwards, and only where rows consist of whole segments.
  bool go_to_row(std::uint32_t row);
  /// Makes segment `index` the next. Only forwards.
  bool go_to(std::uint32_t index);
  /// Makes room for segments of `bytes`, un-stuffed; what was taken will not be used again.
  void clear(std::size_t bytes);
  /// Copies the next segment, un-stuffed, behind those copied since clear(). False, too, where it
  /// has more bytes than there is room for.
  bool take(Segment& segment);
  /// All have been taken: no more than the padding behind the last one will be read.
  void limit_reads();

  /// Begins with the next segment, a part of which is copied at a time, to where the one before
  /// was.
  bool open(OpenSegment& segment);
  /// Copies the next part where little is left of the last one: some MCUs can be decoded then.
  bool feed(OpenSegment& segment);

 private:
  bool end_segment(const std::uint8_t* stop);
  const std::uint8_t* row_by_table(std::uint32_t row, std::uint32_t index) const;

  const Frame& frame_;
  const Kernels& kernels_;
  const std::uint8_t *scan_, *at_, *end_;
  Buffer<std::uint8_t>& memory_;
  std::size_t used_ = 0, room_ = 0;  // of the memory
  std::uint32_t interval_, count_, next_ = 0;
};

}  // namespace packhorse::jpeg
