#include <algorithm>

#include "packhorse/reader/pixel_augment.h"

namespace packhorse::reader {

DistortPlan plan_distort(const PhotometricDistort& distort, SampleRandom random) {
  using Step = ColorPlan::Step;
  DistortPlan plan;
  const auto draw = [&](double least, double most, double& value) {
    const bool drawn = random.uniform(0, 1) < distort.probability;
    const double factor = random.uniform(least, most);
    if (drawn) value = factor;
  };
  draw(distort.min_brightness, distort.max_brightness, plan.colors.brightness);
  draw(distort.min_contrast, distort.max_contrast, plan.colors.contrast);
  draw(distort.min_saturation, distort.max_saturation, plan.colors.saturation);
  draw(distort.min_hue, distort.max_hue, plan.colors.hue);
  if (random.uniform(0, 1) >= 0.5)
    plan.colors.order = {Step::kBrightness, Step::kSaturation, Step::kHue, Step::kContrast};
  if (random.uniform(0, 1) >= distort.probability) return plan;
  for (std::size_t i = plan.channels.size(); i > 1; --i) {
    const auto other = static_cast<std::size_t>(random.integer(static_cast<std::int64_t>(i)));
    std::swap(plan.channels[i - 1], plan.channels[other]);
  }
  return plan;
}

void distort(const DistortPlan& plan, std::span<std::uint8_t> pixels) {
  adjust_colors(plan.colors, pixels);
  const auto& [red, green, blue] = plan.channels;
  if (red == 0 && green == 1) return;
  for (std::size_t p = 0; p + 2 < pixels.size(); p += 3) {
    const std::array<std::uint8_t, 3> old = {pixels[p], pixels[p + 1], pixels[p + 2]};
    pixels[p] = old[red], pixels[p + 1] = old[green], pixels[p + 2] = old[blue];
  }
}

}  // namespace packhorse::reader
