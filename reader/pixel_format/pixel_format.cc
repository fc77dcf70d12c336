#include "packhorse/reader/pixel_format.h"

#include <algorithm>
#include <cmath>
#include <limits>

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
      return 2;
    case PixelType::kFloat32:
      break;
  }
  return 4;
}

void PixelFormat::validate() const {
  const PixelFormat plain;
  require(type != PixelType::kUint8 || (mean == plain.mean && deviation == plain.deviation),
          "pixels of 8 bits cannot be normalised: choose float32 or float16");
  const float most = type == PixelType::kFloat16 ? kLargestHalf : std::numeric_limits<float>::max();
  for (std::size_t c = 0; c < mean.size(); ++c) {
    require(mean[c] >= 0 && mean[c] <= 1,
            "the mean must be within 0 and 1, as it is of pixels scaled to 0..1: divide by 255");
    require(deviation[c] > 0 && std::isfinite(deviation[c]), "the deviation must be above 0");
    require(largest(mean[c], deviation[c]) <= most,
            "normalised pixels would be beyond what their type holds: choose a larger deviation");
  }
}

}  // namespace packhorse::reader
