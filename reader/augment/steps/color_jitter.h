#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "augment/steps/step.h"

namespace packhorse::reader::steps {

/// torchvision.transforms.ColorJitter, as it treats uint8 tensors. Brightness, contrast and
/// saturation are multiplied by a factor from the range, or with a number x from
/// [max(0, 1 - x), 1 + x]; the hue (a circle of length 1) is turned by an amount from the range, or
/// from [-x, x]; in random order. 0 leaves a property alone.
struct ColorJitter {
  static constexpr std::string_view kName = "ColorJitter";
  static constexpr std::string_view kSummary =
      "torchvision's: brightness, contrast and saturation by up to these shares, hue by up to this "
      "part of the circle, or by factors and amounts from ranges; with probability p";

  Amount brightness = 0.0, contrast = 0.0, saturation = 0.0, hue = 0.0;
  double p = 1;

  template <class Self, class Visit>
  static void parameters(Self& self, const Visit& visit) {
    visit("brightness", self.brightness);
    visit("contrast", self.contrast);
    visit("saturation", self.saturation);
    visit("hue", self.hue);
    visit("p", self.p);
  }

  void check() const {
    for (const Amount* amount : {&brightness, &contrast, &saturation}) {
      require(is_within(factors(*amount), 0, factors(*amount)[1]), kName,
              "brightness, contrast and saturation must be 0 or more, or ranges of such numbers");
    }
    require(is_within(either_way(hue), -0.5, 0.5), kName,
            "the hue must be within 0 and 0.5, or a range within -0.5 and 0.5");
    require(is_probability(p), kName, "the probability must be within 0 and 1");
  }

  Operations plan(ImageSize, SampleRandom random) const {
    SampleRandom whether = random.stream(1);
    if (!happens(p, whether)) return {};
    Operations plan = {{Kind::kBrightness}, {Kind::kContrast}, {Kind::kSaturation}, {Kind::kHue}};
    for (std::size_t i = plan.size(); i > 1; --i) {
      const auto other = static_cast<std::size_t>(random.integer(static_cast<std::int64_t>(i)));
      std::swap(plan[i - 1], plan[other]);
    }
    const auto draw = [&](Kind kind, const Range& range) {
      const auto at = std::ranges::find(plan, kind, &Operation::kind);
      const double nothing = kind == Kind::kHue ? 0 : 1;
      if (range[0] == nothing && range[1] == nothing) {
        plan.erase(at);
      } else {
        at->values[0] = random.uniform(range[0], range[1]);
      }
    };
    draw(Kind::kBrightness, factors(brightness));
    draw(Kind::kContrast, factors(contrast));
    draw(Kind::kSaturation, factors(saturation));
    draw(Kind::kHue, either_way(hue));
    return plan;
  }

 private:
  static Range factors(const Amount& amount) {
    if (const auto* share = std::get_if<double>(&amount)) {
      if (!is_amount(*share)) return {1, 0};  // no range
      return {std::max(0.0, 1 - *share), 1 + *share};
    }
    return std::get<Range>(amount);
  }
};

}  // namespace packhorse::reader::steps
