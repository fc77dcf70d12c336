#pragma once

#include <cstdint>
#include <vector>

#include "buffer.h"
#include "entropy.h"
#include "frame.h"
#include "kernels.h"

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
  /// Copies the next segment, un-stuffed, behind what was copied since clear().
  bool take(Segment& segment);
  /// What was taken will not be used again.
  void clear() { used_ = 0; }

 private:
  bool end_segment(const std::uint8_t* stop);
  const std::uint8_t* row_by_table(std::uint32_t row, std::uint32_t index) const;

  const Frame& frame_;
  const Kernels& kernels_;
  const std::uint8_t *scan_, *at_, *end_;
  std::uint8_t* memory_;
  std::size_t used_ = 0;
  std::uint32_t interval_, count_, next_ = 0;
};

}  // namespace packhorse::jpeg
