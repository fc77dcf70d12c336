#pragma once

#include <cstddef>
#include <utility>

#include "augment/color_steps.h"
#include "augment/steps/step.h"

namespace packhorse::reader::steps {

/// torchvision.transforms.v2.RandomPhotometricDistort (Liu et al. 2016, arXiv:1512.02325): each of
/// these with probability p, by a factor from its range, or for the hue an amount; contrast before
/// or after saturation and hue; the channels in a random order.
struct PhotometricDistort {
  static constexpr std::string_view kName = "PhotometricDistort";
  static constexpr std::string_view kSummary =
      "torchvision's RandomPhotometricDistort: factors from these ranges, channels swapped, each "
      "with probability p";

  double p = 0.5;
  Range brightness = {0.875, 1.125}, contrast = {0.5, 1.5}, saturation = {0.5, 1.5};
  Range hue = {-0.05, 0.05};

  template <class Self, class Visit>
  static void parameters(Self& self, const Visit& visit) {
    visit("p", self.p);
    visit("brightness", self.brightness);
    visit("contrast", self.contrast);
    visit("saturation", self.saturation);
    visit("hue", self.hue);
  }

  void check() const {
    require(is_probability(p), kName, "the probability must be within 0 and 1");
    for (const Range& range : {brightness, contrast, saturation})
      require(is_within(range, 0, range[1]), kName,
              "brightness, contrast and saturation must be within 0 <= min <= max");
    require(is_within(hue, -0.5, 0.5), kName, "the hue must be within -0.5 <= min <= max <= 0.5");
  }

  /// What was drawn; channel c becomes what channel channels[c] was.
  struct Plan {
    ColorPlan colors = {};
    std::array<std::uint8_t, 3> channels = {0, 1, 2};
  };

  Plan plan(SampleRandom random) const {
    using Step = ColorPlan::Step;
    Plan plan;
    const auto draw = [&](const Range& range, double& value) {
      const bool drawn = random.uniform(0, 1) < p;
      const double factor = random.uniform(range[0], range[1]);
      if (drawn) value = factor;
    };
    draw(brightness, plan.colors.brightness);
    draw(contrast, plan.colors.contrast);
    draw(saturation, plan.colors.saturation);
    draw(hue, plan.colors.hue);
    if (random.uniform(0, 1) >= 0.5)
      plan.colors.order = {Step::kBrightness, Step::kSaturation, Step::kHue, Step::kContrast};
    if (random.uniform(0, 1) >= p) return plan;
    for (std::size_t i = plan.channels.size(); i > 1; --i) {
      const auto other = static_cast<std::size_t>(random.integer(static_cast<std::int64_t>(i)));
      std::swap(plan.channels[i - 1], plan.channels[other]);
    }
    return plan;
  }

  static void change(const Plan& plan, std::span<std::uint8_t> pixels) {
    adjust_colors(plan.colors, pixels);
    const auto& [red, green, blue] = plan.channels;
    if (red == 0 && green == 1) return;
    for (std::size_t i = 0; i + 2 < pixels.size(); i += 3) {
      const std::array<std::uint8_t, 3> old = {pixels[i], pixels[i + 1], pixels[i + 2]};
      pixels[i] = old[red], pixels[i + 1] = old[green], pixels[i + 2] = old[blue];
    }
  }

  void apply(Picture picture, SampleRandom random) const { change(plan(random), picture.pixels); }
};

}  // namespace packhorse::reader::steps
