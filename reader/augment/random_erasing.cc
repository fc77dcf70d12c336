#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "packhorse/reader/pixel_augment.h"

namespace packhorse::reader {

namespace {

constexpr int kErasingTries = 10;

constexpr int kQuantileBits = 12;
using Quantiles = std::array<float, 1 << kQuantileBits>;

/// The medians of 2^kQuantileBits equally likely parts of the normal distribution.
Quantiles make_quantiles() {
  Quantiles quantiles;
  for (std::size_t i = 0; i < quantiles.size(); ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(quantiles.size());
    double low = -8, high = 8;
    for (int halving = 0; halving < 40; ++halving) {
      const double middle = (low + high) / 2;
      (std::erfc(-middle / std::numbers::sqrt2) / 2 < share ? low : high) = middle;
    }
    quantiles[i] = static_cast<float>(low);
  }
  return quantiles;
}

void fill_with_noise(const RandomErasing& erasing, SampleRandom& random, std::uint8_t* pixel,
                     int pixels) {
  static const Quantiles kQuantiles = make_quantiles();
  for (int x = 0; x < pixels; ++x) {
    std::uint64_t bits = random.next();
    for (std::size_t c = 0; c < 3; ++c, bits >>= kQuantileBits) {
      const double value =
          erasing.mean[c] + erasing.deviation[c] * kQuantiles[bits & (kQuantiles.size() - 1)];
      *pixel++ = static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0) + 0.5);
    }
  }
}

void fill_with_value(const RandomErasing& erasing, std::uint8_t* pixel, int pixels) {
  for (int x = 0; x < pixels; ++x) pixel = std::copy_n(erasing.value.data(), 3, pixel);
}

}  // namespace

ErasePlan plan_erasing(const RandomErasing& erasing, int width, int height, SampleRandom& random) {
  if (random.uniform(0, 1) >= erasing.probability) return {};
  const double area = static_cast<double>(width) * height;
  const double low = std::log(erasing.min_ratio), high = std::log(erasing.max_ratio);
  for (int attempt = 0; attempt < kErasingTries; ++attempt) {
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
    std::uint8_t* row = pixels.data() + (std::ptrdiff_t{y} * width + plan.x) * 3;
    if (erasing.fill == RandomErasing::Fill::kValue) {
      fill_with_value(erasing, row, plan.w);
    } else {
      fill_with_noise(erasing, random, row, plan.w);
    }
  }
}

}  // namespace packhorse::reader
