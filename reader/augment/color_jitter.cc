#include <algorithm>
#include <array>
#include <cstddef>

#include "augment/color_steps.h"
#include "packhorse/reader/pixel_augment.h"

// torchvision.transforms.v2.functional's adjust_brightness, adjust_contrast, adjust_saturation and
// adjust_hue for uint8 tensors: float32 in between, truncated (not rounded) at the end of each
// step.
namespace packhorse::reader {

namespace {

/// Sets each channel by itself to level * factor + offset.
void scale_levels(std::span<std::uint8_t> pixels, float factor, float offset) {
  std::array<std::uint8_t, 256> levels;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    levels[i] = static_cast<std::uint8_t>(
        std::clamp(static_cast<float>(i) * factor + offset, 0.0F, 255.0F));
  }
  for (std::uint8_t& value : pixels) value = levels[value];
}

double draw_factor(double amount, SampleRandom& random) {
  return amount > 0 ? random.uniform(std::max(0.0, 1 - amount), 1 + amount) : 1;
}

}  // namespace

ColorPlan plan_colors(const ColorJitter& jitter, SampleRandom random) {
  ColorPlan plan;
  for (std::size_t i = plan.order.size(); i > 1; --i) {
    const auto other = static_cast<std::size_t>(random.integer(static_cast<std::int64_t>(i)));
    std::swap(plan.order[i - 1], plan.order[other]);
  }
  plan.brightness = draw_factor(jitter.brightness, random);
  plan.contrast = draw_factor(jitter.contrast, random);
  plan.saturation = draw_factor(jitter.saturation, random);
  plan.hue = jitter.hue > 0 ? random.uniform(-jitter.hue, jitter.hue) : 0;
  return plan;
}

void adjust_colors(const ColorPlan& plan, std::span<std::uint8_t> pixels) {
  using Step = ColorPlan::Step;
  const ColorSteps& steps = color_steps().back();
  for (const Step step : plan.order) {
    if (step == Step::kBrightness && plan.brightness != 1) {
      scale_levels(pixels, static_cast<float>(plan.brightness), 0);
    } else if (step == Step::kContrast && plan.contrast != 1) {
      const double mean = static_cast<double>(steps.grey_sum(pixels)) /
                          static_cast<double>(std::max<std::size_t>(1, pixels.size() / 3));
      const double offset = (1 - plan.contrast) * mean;
      scale_levels(pixels, static_cast<float>(plan.contrast), static_cast<float>(offset));
    } else if (step == Step::kSaturation && plan.saturation != 1) {
      steps.saturation(pixels, plan.saturation);
    } else if (step == Step::kHue && plan.hue != 0) {
      steps.hue(pixels, plan.hue);
    }
  }
}

}  // namespace packhorse::reader
