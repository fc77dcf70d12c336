#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "augment/operations.h"

/// Operations whose pixels depend on their neighbours.
namespace packhorse::reader {

/// adjust_sharpness(): pixels at the edge stay. Pictures of one or two rows or columns stay, too.
void sharpen(const Picture& picture, double factor);

/// gaussian_blur() with a kernel of width x height pixels (odd). At the edges the picture is
/// mirrored, as often as the kernel needs. Weights below 1e-6 are left out.
void gaussian_blur(const Picture& picture, int kernel_width, int kernel_height, double sigma);

/// The inner loops. They exist for several instruction sets (Highway) and in plain C++, with the
/// same results.
struct FilterKernels {
  const char* name;
  /// Of `count` bytes, each with a neighbour 3 bytes before and after it in its row and the rows
  /// above and below: row + (the mean around it, rounded, - row) * share, truncated.
  void (*sharpen_row)(const std::uint8_t* above, const std::uint8_t* row, const std::uint8_t* below,
                      float share, std::size_t count, std::uint8_t* out);
  /// out[i] = weights[0] * rows[0][i], and the sum of weights[k] * (rows[2k - 1][i] + rows[2k][i]).
  /// May read and write kSlack numbers more.
  void (*blur_down)(std::span<const std::uint8_t* const> rows, std::span<const float> weights,
                    std::size_t count, float* out);
  /// out[i] = weights[0] * row[i], and the sum of weights[k] * (row[i - 3k] + row[i + 3k]),
  /// rounded.
  void (*blur_across)(const float* row, std::span<const float> weights, std::size_t count,
                      std::uint8_t* out);
};

const FilterKernels& plain_filter_kernels();
/// The fastest this processor can run.
FilterKernels fastest_filter_kernels();

}  // namespace packhorse::reader
