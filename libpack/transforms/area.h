#pragma once

#include <cstdint>
#include <vector>

/// The area filter.
namespace packhorse::transforms {

/// One axis of a resize. Output sample j is the mean of the input from origin + j * scale to
/// origin + (j + 1) * scale, as far as there is input; samples at the ends count by their share.
struct AreaAxis {
  int in = 0, out = 0;
  double origin = 0;
  double scale = 1;  ///< input samples an output sample; 1 or more
};

/// Shrinks by the area filter (OpenCV's INTER_AREA, within 1 of it), row by row as rows become
/// known, so that no more than one row of the input need be in memory. Integers only: the same
/// result on every machine. One thread; keeps its memory.
class AreaResampler {
 public:
  /// `out` takes y.out rows of x.out * channels bytes.
  void start(const AreaAxis& x, const AreaAxis& y, int channels, std::uint8_t* out,
             std::size_t out_stride);
  /// The next row: x.in * channels bytes. Rows beyond what is needed are ignored.
  void add_row(const std::uint8_t* row);
  bool done() const { return next_out_ == y_.first.size(); }

 private:
  /// By output sample: the input samples it is made of, and their weights, which sum to 4096.
  struct Taps {
    std::vector<int> first, count;
    std::vector<std::uint32_t> weights;  ///< `width` for each, at least four
    std::size_t width = 0;
    void make(const AreaAxis& axis);
  };

  Taps x_, y_;
  std::size_t channels_ = 1, row_bytes_ = 0;
  std::vector<std::uint32_t> sums_;  ///< of an output row, columns not yet added up
  std::uint8_t* out_ = nullptr;
  std::size_t out_stride_ = 0;
  std::size_t next_out_ = 0;
  int next_in_ = 0;
};

}  // namespace packhorse::transforms
