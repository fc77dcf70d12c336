#pragma once

#include "augment/steps/policy.h"

namespace packhorse::reader::steps {

/// torchvision.transforms.v2.RandAugment (Cubuk et al. 2020, arXiv:1909.13719).
struct RandAugment {
  static constexpr std::string_view kName = "RandAugment";
  static constexpr std::string_view kSummary =
      "torchvision's: so many operations, each of the magnitude";
  static constexpr bool kMovesPixels = true;

  double num_ops = 2, magnitude = 9, num_magnitude_bins = 31;
  Moving moving;

  template <class Self, class Visit>
  static void parameters(Self& self, const Visit& visit) {
    visit("num_ops", self.num_ops);
    visit("magnitude", self.magnitude);
    visit("num_magnitude_bins", self.num_magnitude_bins);
    Moving::parameters(self.moving, visit);
  }

  void check() const {
    require(is_whole(num_ops, 0, kMostOperations), kName,
            "num_ops must be a whole number of 0 to 16");
    require(is_whole(num_magnitude_bins, 2, kMostBins), kName,
            "num_magnitude_bins must be a whole number of 2 to 1000");
    require(is_whole(magnitude, 0, num_magnitude_bins - 1), kName,
            "the magnitude must be a whole number from 0 to below num_magnitude_bins");
    moving.check(kName);
  }

  Operations plan(ImageSize size, SampleRandom random) const {
    Operations plan;
    for (int i = 0; i < static_cast<int>(num_ops); ++i)
      plan.push_back(kUsualSpace.draw(moving, static_cast<int>(magnitude),
                                      static_cast<int>(num_magnitude_bins), size, random));
    return plan;
  }
};

/// torchvision.transforms.v2.TrivialAugmentWide (Müller and Hutter 2021, arXiv:2103.10158).
struct TrivialAugmentWide {
  static constexpr std::string_view kName = "TrivialAugmentWide";
  static constexpr std::string_view kSummary =
      "torchvision's: one operation of any magnitude, up to strong ones";
  static constexpr bool kMovesPixels = true;
  static constexpr Space kSpace = {.shear = .99,
                                   .degrees = 135,
                                   .enhance = .99,
                                   .translate = 32,
                                   .translate_side = false,
                                   .bits = 8,
                                   .bits_less = 6,
                                   .kinds = kPolicyKinds.size()};

  double num_magnitude_bins = 31;
  Moving moving;

  template <class Self, class Visit>
  static void parameters(Self& self, const Visit& visit) {
    visit("num_magnitude_bins", self.num_magnitude_bins);
    Moving::parameters(self.moving, visit);
  }

  void check() const {
    require(is_whole(num_magnitude_bins, 2, kMostBins), kName,
            "num_magnitude_bins must be a whole number of 2 to 1000");
    moving.check(kName);
  }

  Operations plan(ImageSize size, SampleRandom random) const {
    const auto bins = static_cast<int>(num_magnitude_bins);
    const auto bin = static_cast<int>(random.integer(bins));
    return {kSpace.draw(moving, bin, bins, size, random)};
  }
};

}  // namespace packhorse::reader::steps
