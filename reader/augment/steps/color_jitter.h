#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "augment/color_steps.h"
#include "augment/steps/step.h"

namespace packhorse::reader::steps {

/// torchvision.transforms.ColorJitter, as it treats uint8 tensors. Brightness, contrast and
/// saturation are multiplied by a factor from [max(0, 1 - x), 1 + x]; the hue (a circle of length
/// 1) is turned by an amount from [-x, x]; in random order. 0 leaves a property alone.
struct ColorJitter {
  static constexpr std::string_view kName = "ColorJitter";
  static constexpr std::string_view kSummary =
      "torchvision's: brightness, contrast and saturation by up to these shares, hue by up to this "
      "part of the circle";

  double brightness = 0, contrast = 0, saturation = 0, hue = 0;

  template <class Self, class Visit>
  static void parameters(Self& self, const Visit& visit) {
    visit("brightness", self.brightness);
    visit("contrast", self.contrast);
    visit("saturation", self.saturation);
    visit("hue", self.hue);
  }

  void check() const {
    require(is_amount(brightness) && is_amount(contrast) && is_amount(saturation), kName,
            "brightness, contrast and saturation must be 0 or more");
    require(hue >= 0 && hue <= 0.5, kName, "the hue must be within 0 and 0.5");
  }

  ColorPlan plan(SampleRandom random) const {
    ColorPlan plan;
    for (std::size_t i = plan.order.size(); i > 1; --i) {
      const auto other = static_cast<std::size_t>(random.integer(static_cast<std::int64_t>(i)));
      std::swap(plan.order[i - 1], plan.order[other]);
    }
    const auto factor = [&](double amount) {
      return amount > 0 ? random.uniform(std::max(0.0, 1 - amount), 1 + amount) : 1;
    };
    plan.brightness = factor(brightness);
    plan.contrast = factor(contrast);
    plan.saturation = factor(saturation);
    plan.hue = hue > 0 ? random.uniform(-hue, hue) : 0;
    return plan;
  }

  void apply(Picture picture, SampleRandom random) const {
    adjust_colors(plan(random), picture.pixels);
  }
};

}  // namespace packhorse::reader::steps
