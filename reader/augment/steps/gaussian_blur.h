#pragma once

#include "augment/steps/step.h"

namespace packhorse::reader::steps {

/// torchvision.transforms.v2.GaussianBlur, with probability p.
struct GaussianBlur {
  static constexpr std::string_view kName = "GaussianBlur";
  static constexpr std::string_view kSummary =
      "torchvision's: a kernel of so many pixels (width, height), sigma fixed or from a range; "
      "with "
      "probability p";
  static constexpr double kMostPixels = 255;

  Amount kernel_size = 23.0, sigma = Range{0.1, 2};
  double p = 1;

  template <class Self, class Visit>
  static void parameters(Self& self, const Visit& visit) {
    visit("kernel_size", self.kernel_size);
    visit("sigma", self.sigma);
    visit("p", self.p);
  }

  void check() const {
    for (const double side : both(kernel_size)) {
      require(is_whole(side, 1, kMostPixels) && is_whole((side - 1) / 2, 0, kMostPixels), kName,
              "kernel_size: give odd numbers of 1 to 255");
    }
    const Range range = both(sigma);
    require(range[0] > 0 && is_within(range, 0, range[1]), kName,
            "sigma must be above 0, or within 0 < min <= max");
    require(is_probability(p), kName, "the probability must be within 0 and 1");
  }

  Operations plan(ImageSize, SampleRandom random) const {
    if (!happens(p, random)) return {};
    const Range sides = both(kernel_size), range = both(sigma);
    return {{Kind::kGaussianBlur, {sides[0], sides[1], random.uniform(range[0], range[1])}}};
  }

 private:
  static Range both(const Amount& amount) {
    if (const auto* number = std::get_if<double>(&amount)) return {*number, *number};
    return std::get<Range>(amount);
  }
};

}  // namespace packhorse::reader::steps
