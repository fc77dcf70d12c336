#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// The two inner loops of resampling, for RGB of 8 bits. Each exists for several instruction sets
/// (Highway) and in plain C++, with the same results.
namespace packhorse::reader {

/// Weights are fixed-point numbers of this many bits after the point; those of one Tap sum up to 1.
inline constexpr int kWeightBits = 14;
inline constexpr int kHalf = 1 << (kWeightBits - 1);  ///< for rounding

/// What one output position is made of: `count` source positions from `first` on. None makes black.
/// The weights stand at `weights` in a common array, followed by a zero.
struct Tap {
  std::int32_t first = 0;
  std::int32_t count = 0;
  std::size_t weights = 0;
};

/// Sums beyond 0 to 255, which negative weights make, are taken modulo 256 by `rows` and `column`,
/// and clamped by the others.
struct ResizeKernels {
  /// `count` rows: in each a pixel of `out` for each tap. Reads up to 16 bytes beyond the last
  /// source pixel (and ignores them), writes one byte beyond the last output pixel of each row.
  void (*rows)(const std::uint8_t* in, std::size_t in_stride, int count, std::span<const Tap> taps,
               const std::int16_t* weights, std::uint8_t* out, std::size_t out_stride);
  /// `bytes` of one output row from `count` input rows, `stride` apart.
  void (*column)(const std::uint8_t* in, std::size_t stride, const std::int16_t* weights, int count,
                 std::uint8_t* out, std::size_t bytes);
  decltype(rows) clamped_rows;
  decltype(column) clamped_column;
};

/// In plain C++, for any processor: what the others are tested against.
const ResizeKernels& plain_kernels();
/// The fastest this processor can run.
ResizeKernels fastest_kernels();

}  // namespace packhorse::reader
