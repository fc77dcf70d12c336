#include <algorithm>
#include <cmath>

#include "packhorse/reader/pixel_augment.h"

namespace packhorse::reader {

namespace {

constexpr int kTries = 10;

std::uint8_t level(double value) {
  return static_cast<std::uint8_t>(std::clamp(std::nearbyint(value), 0.0, 255.0));
}

}  // namespace

ErasePlan plan_erasing(const RandomErasing& erasing, int width, int height, SampleRandom& random) {
  if (random.uniform(0, 1) >= erasing.probability) return {};
  const double area = static_cast<double>(width) * height;
  const double low = std::log(erasing.min_ratio), high = std::log(erasing.max_ratio);
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const double target = area * random.uniform(erasing.min_scale, erasing.max_scale);
    const double ratio = std::exp(random.uniform(low, high));
    const double h = std::nearbyint(std::sqrt(target * ratio));
    const double w = std::nearbyint(std::sqrt(target / ratio));
    if (h >= height || w >= width) continue;
    ErasePlan plan{.w = static_cast<int>(w), .h = static_cast<int>(h)};
    plan.y = static_cast<int>(random.integer(height - plan.h + 1));
    plan.x = static_cast<int>(random.integer(width - plan.w + 1));
    return plan;
  }
  return {};
}

void erase(const RandomErasing& erasing, const ErasePlan& plan, int width, SampleRandom random,
           std::span<std::uint8_t> pixels) {
  for (int y = plan.y; y < plan.y + plan.h; ++y) {
    std::uint8_t* pixel = pixels.data() + (std::ptrdiff_t{y} * width + plan.x) * 3;
    for (int x = 0; x < plan.w; ++x, pixel += 3) {
      for (std::size_t c = 0; c < 3; ++c) {
        pixel[c] = erasing.fill == RandomErasing::Fill::kValue
                       ? erasing.value[c]
                       : level(erasing.mean[c] + erasing.deviation[c] * random.normal());
      }
    }
  }
}

}  // namespace packhorse::reader
