
#include <algorithm>
#include <cstddef>

#include "augment/color_steps.h"

namespace packhorse::reader {

void adjust_colors(const ColorPlan& plan, std::span<std::uint8_t> pixels) {
  using Step = ColorPlan::Step;
  using Kind = ColorStep::Kind;
  static const ColorSteps kernels = fastest_color_steps();
  std::array<ColorStep, 4> steps;
  std::size_t waiting = 0;
  const auto add = [&](Kind kind, double a, double b) {
    steps[waiting++] = {kind, static_cast<float>(a), static_cast<float>(b)};
  };
  const auto apply_waiting = [&] {
    if (waiting > 0) kernels.apply(pixels, std::span(steps).first(waiting));
    waiting = 0;
  };
  for (const Step step : plan.order) {
    if (step == Step::kBrightness && plan.brightness != 1) {
      add(Kind::kLevels, plan.brightness, 0);
    } else if (step == Step::kContrast && plan.contrast != 1) {
      apply_waiting();  // the mean is that of what they leave
      const double mean = static_cast<double>(kernels.grey_sum(pixels)) /
                          static_cast<double>(std::max<std::size_t>(1, pixels.size() / 3));
      add(Kind::kLevels, plan.contrast, (1 - plan.contrast) * mean);
    } else if (step == Step::kSaturation && plan.saturation != 1) {
      add(Kind::kSaturation, plan.saturation, 1 - plan.saturation);
    } else if (step == Step::kHue && plan.hue != 0) {
      add(Kind::kHue, 6 * plan.hue, 0);
    }
  }
  apply_waiting();
}

}  // namespace packhorse::reader
