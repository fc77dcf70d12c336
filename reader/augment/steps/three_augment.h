#pragma once

#include "augment/steps/step.h"

namespace packhorse::reader::steps {

/// DeiT III's 3-Augment (Touvron et al. 2022, arXiv:2204.07118), without its ColorJitter(0.3, 0.3,
/// 0.3). Its code blurs with Pillow's approximation of the Gaussian; here it is torchvision's.
struct ThreeAugment {
  static constexpr std::string_view kName = "ThreeAugment";
  static constexpr std::string_view kSummary =
      "DeiT III's: grayscale, solarize (from level 128 on) or a Gaussian blur with a sigma from "
      "the "
      "range";

  Range sigma = {0.1, 2};

  template <class Self, class Visit>
  static void parameters(Self& self, const Visit& visit) {
    visit("sigma", self.sigma);
  }

  void check() const {
    require(sigma[0] > 0 && is_within(sigma, 0, 60), kName,
            "sigma must be within 0 < min <= max <= 60");
  }

  Operations plan(ImageSize, SampleRandom random) const {
    const std::int64_t choice = random.integer(3);
    if (choice == 0) return {{Kind::kGrayscale}};
    if (choice == 1) return {{Kind::kSolarize, {128}}};
    const double deviation = random.uniform(sigma[0], sigma[1]);
    const double kernel = 2 * std::ceil(4 * deviation) + 1;  // what is beyond has no weight
    return {{Kind::kGaussianBlur, {kernel, kernel, deviation}}};
  }
};

}  // namespace packhorse::reader::steps
