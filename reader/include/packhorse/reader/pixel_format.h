#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace packhorse::reader {

enum class PixelType {
  kUint8,    ///< 0 to 255, as decoded
  kFloat32,  ///< scaled to 0..1, then normalised
  kFloat16,  ///< IEEE binary16: what kFloat32 gives, rounded to the nearest, ties to even
  kUint16,   ///< 0 to 65535; for bands only
};

enum class PixelLayout {
  kInterleaved,  ///< [height, width, channels]
  kPlanes,       ///< [channels, height, width]
};

/// The numbers that a batch's images consist of.
///
/// The floating-point types are torchvision's ToTensor() and Normalize(mean, deviation), bit for
/// bit: (x / 255 - mean) / deviation, with each step rounded to float32. Of bands (BandOptions), x
/// is divided by the highest number of its bits, and not at all where it is a floating-point
/// number.
struct PixelFormat {
  PixelType type = PixelType::kUint8;
  PixelLayout layout = PixelLayout::kInterleaved;
  /// Of each channel, of pixels scaled to 0..1; none: they are not normalised.
  std::vector<float> mean = {};
  std::vector<float> deviation = {};  ///< std, of the same

  /// Throws Error(kUsage): for integers that are to be normalised, other channels than these, a
  /// mean outside 0..1 where numbers are within that, a deviation that is not above 0, and numbers
  /// that the type cannot hold.
  void validate(std::size_t channels = 3, bool within_0_and_1 = true) const;
  friend bool operator==(const PixelFormat&, const PixelFormat&) = default;
};

/// Bytes of one number: 1, 2 or 4.
std::size_t size_of(PixelType type);

/// Writes pixels of any number of bands, `in`, interleaved, in a format, into size_of(format.type)
/// bytes for each number, aligned for it. Integers are what their fractions are nearest to, and
/// within what the type holds. Any thread.
void write_bands(std::span<const float> in, std::size_t bands, const PixelFormat& format,
                 std::span<std::uint8_t> out);

}  // namespace packhorse::reader
