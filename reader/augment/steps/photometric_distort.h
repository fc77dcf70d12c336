#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

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

  Operations plan(ImageSize, SampleRandom random) const {
    Operations plan;
    const auto draw = [&](Kind kind, const Range& range) {
      const bool drawn = random.uniform(0, 1) < p;
      const double value = random.uniform(range[0], range[1]);
      if (drawn) plan.push_back({kind, {value}});
    };
    draw(Kind::kBrightness, brightness);
    draw(Kind::kContrast, contrast);
    draw(Kind::kSaturation, saturation);
    draw(Kind::kHue, hue);
    if (random.uniform(0, 1) >= 0.5) {  // contrast comes last
      const auto contrast_at = std::ranges::find(plan, Kind::kContrast, &Operation::kind);
      if (contrast_at != plan.end()) std::rotate(contrast_at, contrast_at + 1, plan.end());
    }
    if (random.uniform(0, 1) >= p) return plan;
    std::array<double, 6> channels = {0, 1, 2};
    for (std::size_t i = kChannels; i > 1; --i) {
      const auto other = static_cast<std::size_t>(random.integer(static_cast<std::int64_t>(i)));
      std::swap(channels[i - 1], channels[other]);
    }
    plan.push_back({Kind::kSwapChannels, channels});
    return plan;
  }
};

}  // namespace packhorse::reader::steps
