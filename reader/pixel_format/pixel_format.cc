#include "packhorse/reader/pixel_format.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

constexpr float kLargestHalf = 65504;

void require(bool holds, const char* what) {
  if (!holds) throw Error(ErrorKind::kUsage, what);
}

/// The largest amount that a pixel of this channel becomes; black and white are the extremes.
float largest(float mean, float deviation) {
  return std::max(std::abs(-mean / deviation), std::abs((1 - mean) / deviation));
}

}  // namespace

std::size_t size_of(PixelType type) {
  switch (type) {
    case PixelType::kUint8:
      return 1;
    case PixelType::kFloat16:
    case PixelType::kUint16:
      return 2;
    case PixelType::kFloat32:
      break;
  }
  return 4;
}

void PixelFormat::validate(std::size_t channels, bool within_0_and_1) const {
  if (mean.empty() && deviation.empty()) return;
  require(type != PixelType::kUint8 && type != PixelType::kUint16,
          "mean and std need floating-point pixels: choose float32 or float16");
  if (mean.size() != channels || deviation.size() != channels)
    throw Error(ErrorKind::kUsage,
                "mean and std need one number for each channel, of which there are " +
                    std::to_string(channels));
  const float most = type == PixelType::kFloat16 ? kLargestHalf : std::numeric_limits<float>::max();
  for (std::size_t c = 0; c < mean.size(); ++c) {
    require(deviation[c] > 0 && std::isfinite(deviation[c]), "each std must be above 0");
    require(std::isfinite(mean[c]), "each mean must be a finite number");
    if (!within_0_and_1) continue;
    require(
        mean[c] >= 0 && mean[c] <= 1,
        "each mean must be from 0 to 1, because pixels are scaled to 0..1: divide it by 255, or "
        "by 65535 for 16 bits");
    require(largest(mean[c], deviation[c]) <= most,
            "normalised pixels would exceed the range of their type: choose a larger std");
  }
}

}  // namespace packhorse::reader
