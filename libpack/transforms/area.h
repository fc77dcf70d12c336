#pragma once

#include <cstdint>
#include <vector>

/// The area filter.
namespace packhorse::transforms {

/// One axis of a resize. Output sample j is the mean of the input samples in [origin + j * scale,
/// origin + (j + 1) * scale), as far as there are any; a sample that is partly covered counts by
/// its share.
struct AreaAxis {
  int in = 0, out = 0;
  double origin = 0;
  double scale = 1;  ///< input samples for each output sample; 1 or more
};

/// Shrinks by the area filter (OpenCV's INTER_AREA, within 1 of it), row by row as the rows arrive,
/// so that only one row of the input need be in memory. Integer arithmetic gives the same result on
/// every machine. One thread; keeps its memory.
class AreaResampler {
 public:
  /// `out` takes y.out rows of x.out * channels bytes.
  void start(const AreaAxis& x, const AreaAxis& y, int channels, std::uint8_t* out,
             std::size_t out_stride);
  /// Adds the next row: x.in * channels bytes. Ignores rows beyond those needed.
  void add_row(const std::uint8_t* row);
  bool done() const { return next_out_ == y_.first.size(); }

 private:
  /// The input samples that each output sample is made of, and their weights, which sum to 4096.
  struct Taps {
    std::vector<int> first, count;
    std::vector<std::uint32_t> weights;  ///< `width` for each output sample, at least four
    std::size_t width = 0;
    void make(const AreaAxis& axis);
  };

  Taps x_, y_;
  std::size_t channels_ = 1, row_bytes_ = 0;
  std::vector<std::uint32_t> sums_;  ///< sums of one output row, columns not yet added up
  std::uint8_t* out_ = nullptr;
  std::size_t out_stride_ = 0;
  std::size_t next_out_ = 0;
  int next_in_ = 0;
};

}  // namespace packhorse::transforms
