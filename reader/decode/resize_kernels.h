#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// The two inner loops of resampling, for RGB of 8 bits.
namespace packhorse::reader {

/// Weights are fixed-point numbers with this many fraction bits; those of one Tap sum to 1.
inline constexpr int kWeightBits = 14;

/// The sources of one output position: `count` source positions from `first` on. None makes black.
/// The weights stand at `weights` in a common array, followed by a zero.
struct Tap {
  std::int32_t first = 0;
  std::int32_t count = 0;
  std::size_t weights = 0;
};

struct ResizeKernels {
  const char* name;
  /// For each of `count` rows, makes a pixel of `out` for each tap. Reads up to 16 bytes beyond the
  /// last source pixel (and ignores them), writes one byte beyond the last output pixel of each
  /// row.
  void (*rows)(const std::uint8_t* in, std::size_t in_stride, int count, std::span<const Tap> taps,
               const std::int16_t* weights, std::uint8_t* out, std::size_t out_stride);
  /// Makes `bytes` bytes of one output row from `count` input rows that are `stride` apart.
  void (*column)(const std::uint8_t* in, std::size_t stride, const std::int16_t* weights, int count,
                 std::uint8_t* out, std::size_t bytes);
};

/// The kernels that this processor can run, the fastest last. All give the same results.
std::span<const ResizeKernels* const> resize_kernels();
inline const ResizeKernels& fastest_kernels() { return *resize_kernels().back(); }

// Each needs a processor with the instructions it is named after.
extern const ResizeKernels kPortableKernels;
#if defined(__x86_64__)
extern const ResizeKernels kSsse3Kernels, kAvx2Kernels;
#endif

}  // namespace packhorse::reader
