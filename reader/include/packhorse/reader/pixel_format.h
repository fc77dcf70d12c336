#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace packhorse::reader {

enum class PixelType {
  kUint8,    ///< 0 to 255, as decoded
  kFloat32,  ///< scaled to 0..1, then normalised
  kFloat16,  ///< IEEE binary16: what kFloat32 gives, rounded to the nearest, ties to even
};

enum class PixelLayout {
  kInterleaved,  ///< [height, width, 3]
  kPlanes,       ///< [3, height, width]: channels first
};

/// The numbers that a batch's images consist of.
///
/// The floating-point types are torchvision's ToTensor() and Normalize(mean, deviation), bit for
/// bit: (x / 255 - mean) / deviation, with each step rounded to float32.
struct PixelFormat {
  PixelType type = PixelType::kUint8;
  PixelLayout layout = PixelLayout::kInterleaved;
  std::array<float, 3> mean = {0, 0,
                               0};  ///< of each channel, of pixels scaled to 0..1: within that
  std::array<float, 3> deviation = {1, 1, 1};  ///< standard deviation, likewise

  /// Throws Error(kUsage): for bytes that are to be normalised, a mean outside 0..1, a deviation
  /// that is not above 0, and numbers that the type cannot hold.
  void validate() const;
  friend bool operator==(const PixelFormat&, const PixelFormat&) = default;
};

/// Bytes of one number: 1, 4 or 2.
std::size_t size_of(PixelType type);

}  // namespace packhorse::reader
