#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

/// The inner loops of writing pixels in a format. Each exists for several instruction sets
/// (Highway) and in plain C++, with the same results.
namespace packhorse::reader {

/// As in PixelFormat.
struct Normalization {
  std::array<float, 3> mean, deviation;
};

using Half = std::uint16_t;  ///< the bits of an IEEE binary16

/// `count` RGB pixels of 8 bits, from `in`: as three planes, `out[0]` to `out[2]`, or interleaved.
struct PixelKernels {
  using Bytes = std::array<std::uint8_t*, 3>;
  using Floats = std::array<float*, 3>;
  using Halves = std::array<Half*, 3>;
  void (*byte_planes)(const std::uint8_t* in, std::size_t count, const Bytes& out);
  void (*float_planes)(const std::uint8_t* in, std::size_t count, const Normalization&,
                       const Floats& out);
  void (*half_planes)(const std::uint8_t* in, std::size_t count, const Normalization&,
                      const Halves& out);
  void (*floats)(const std::uint8_t* in, std::size_t count, const Normalization&, float* out);
  void (*halves)(const std::uint8_t* in, std::size_t count, const Normalization&, Half* out);
  /// share x own + (1 - share) x other, rounded once where the share is a multiple of 1/256.
  void (*blend_halves)(const Half* other, std::size_t count, float share, Half* own);
};

/// In plain C++, for any processor: what the others are tested against.
const PixelKernels& plain_pixel_kernels();
/// The fastest this processor can run.
PixelKernels fastest_pixel_kernels();

/// Rounds to the nearest, ties to even; what is too large becomes infinite.
Half half_of(float value);
/// Exact.
float float_of(Half half);

}  // namespace packhorse::reader
