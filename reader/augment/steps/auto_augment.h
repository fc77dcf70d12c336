#pragma once

#include <iterator>

#include "augment/steps/policy.h"

namespace packhorse::reader::steps {

/// torchvision.transforms.v2.AutoAugment (Cubuk et al. 2019, arXiv:1805.09501).
struct AutoAugment {
  static constexpr std::string_view kName = "AutoAugment";
  static constexpr std::string_view kSummary =
      "torchvision's: two operations of one of 25 pairs, which were learned on ImageNet, CIFAR-10 "
      "or "
      "SVHN";
  static constexpr bool kMovesPixels = true;

  static constexpr std::array<std::string_view, 3> kPolicies = {"imagenet", "cifar10", "svhn"};

  Word policy{kPolicies};
  Moving moving;

  template <class Self, class Visit>
  static void parameters(Self& self, const Visit& visit) {
    visit("policy", self.policy);
    Moving::parameters(self.moving, visit);
  }

  void check() const { moving.check(kName); }

  Operations plan(ImageSize size, SampleRandom random) const {
    constexpr int kBins = 10;
    const Pairs& pairs = kPairs[policy.chosen];
    const Pair& pair = pairs[static_cast<std::size_t>(random.integer(std::ssize(pairs)))];
    Operations plan;
    for (const Part& part : pair) {
      if (random.uniform(0, 1) < part.p)
        plan.push_back(kUsualSpace.draw(moving, part.kind, part.bin, kBins, size, random));
    }
    return plan;
  }

 private:
  struct Part {
    Kind kind;
    double p;
    int bin;
  };
  using Pair = std::array<Part, 2>;
  using Pairs = std::array<Pair, 25>;

  /// By policy: operation, probability, magnitude.
  static constexpr std::array<Pairs, 3> kPairs = {{
      {{{{{Kind::kPosterize, 0.4, 8}, {Kind::kRotate, 0.6, 9}}},
        {{{Kind::kSolarize, 0.6, 5}, {Kind::kAutocontrast, 0.6, 0}}},
        {{{Kind::kEqualize, 0.8, 0}, {Kind::kEqualize, 0.6, 0}}},
        {{{Kind::kPosterize, 0.6, 7}, {Kind::kPosterize, 0.6, 6}}},
        {{{Kind::kEqualize, 0.4, 0}, {Kind::kSolarize, 0.2, 4}}},
        {{{Kind::kEqualize, 0.4, 0}, {Kind::kRotate, 0.8, 8}}},
        {{{Kind::kSolarize, 0.6, 3}, {Kind::kEqualize, 0.6, 0}}},
        {{{Kind::kPosterize, 0.8, 5}, {Kind::kEqualize, 1, 0}}},
        {{{Kind::kRotate, 0.2, 3}, {Kind::kSolarize, 0.6, 8}}},
        {{{Kind::kEqualize, 0.6, 0}, {Kind::kPosterize, 0.4, 6}}},
        {{{Kind::kRotate, 0.8, 8}, {Kind::kSaturation, 0.4, 0}}},
        {{{Kind::kRotate, 0.4, 9}, {Kind::kEqualize, 0.6, 0}}},
        {{{Kind::kEqualize, 0, 0}, {Kind::kEqualize, 0.8, 0}}},
        {{{Kind::kInvert, 0.6, 0}, {Kind::kEqualize, 1, 0}}},
        {{{Kind::kSaturation, 0.6, 4}, {Kind::kContrast, 1, 8}}},
        {{{Kind::kRotate, 0.8, 8}, {Kind::kSaturation, 1, 2}}},
        {{{Kind::kSaturation, 0.8, 8}, {Kind::kSolarize, 0.8, 7}}},
        {{{Kind::kSharpness, 0.4, 7}, {Kind::kInvert, 0.6, 0}}},
        {{{Kind::kShearX, 0.6, 5}, {Kind::kEqualize, 1, 0}}},
        {{{Kind::kSaturation, 0.4, 0}, {Kind::kEqualize, 0.6, 0}}},
        {{{Kind::kEqualize, 0.4, 0}, {Kind::kSolarize, 0.2, 4}}},
        {{{Kind::kSolarize, 0.6, 5}, {Kind::kAutocontrast, 0.6, 0}}},
        {{{Kind::kInvert, 0.6, 0}, {Kind::kEqualize, 1, 0}}},
        {{{Kind::kSaturation, 0.6, 4}, {Kind::kContrast, 1, 8}}},
        {{{Kind::kEqualize, 0.8, 0}, {Kind::kEqualize, 0.6, 0}}}}},
      {{{{{Kind::kInvert, 0.1, 0}, {Kind::kContrast, 0.2, 6}}},
        {{{Kind::kRotate, 0.7, 2}, {Kind::kTranslateX, 0.3, 9}}},
        {{{Kind::kSharpness, 0.8, 1}, {Kind::kSharpness, 0.9, 3}}},
        {{{Kind::kShearY, 0.5, 8}, {Kind::kTranslateY, 0.7, 9}}},
        {{{Kind::kAutocontrast, 0.5, 0}, {Kind::kEqualize, 0.9, 0}}},
        {{{Kind::kShearY, 0.2, 7}, {Kind::kPosterize, 0.3, 7}}},
        {{{Kind::kSaturation, 0.4, 3}, {Kind::kBrightness, 0.6, 7}}},
        {{{Kind::kSharpness, 0.3, 9}, {Kind::kBrightness, 0.7, 9}}},
        {{{Kind::kEqualize, 0.6, 0}, {Kind::kEqualize, 0.5, 0}}},
        {{{Kind::kContrast, 0.6, 7}, {Kind::kSharpness, 0.6, 5}}},
        {{{Kind::kSaturation, 0.7, 7}, {Kind::kTranslateX, 0.5, 8}}},
        {{{Kind::kEqualize, 0.3, 0}, {Kind::kAutocontrast, 0.4, 0}}},
        {{{Kind::kTranslateY, 0.4, 3}, {Kind::kSharpness, 0.2, 6}}},
        {{{Kind::kBrightness, 0.9, 6}, {Kind::kSaturation, 0.2, 8}}},
        {{{Kind::kSolarize, 0.5, 2}, {Kind::kInvert, 0, 0}}},
        {{{Kind::kEqualize, 0.2, 0}, {Kind::kAutocontrast, 0.6, 0}}},
        {{{Kind::kEqualize, 0.2, 0}, {Kind::kEqualize, 0.6, 0}}},
        {{{Kind::kSaturation, 0.9, 9}, {Kind::kEqualize, 0.6, 0}}},
        {{{Kind::kAutocontrast, 0.8, 0}, {Kind::kSolarize, 0.2, 8}}},
        {{{Kind::kBrightness, 0.1, 3}, {Kind::kSaturation, 0.7, 0}}},
        {{{Kind::kSolarize, 0.4, 5}, {Kind::kAutocontrast, 0.9, 0}}},
        {{{Kind::kTranslateY, 0.9, 9}, {Kind::kTranslateY, 0.7, 9}}},
        {{{Kind::kAutocontrast, 0.9, 0}, {Kind::kSolarize, 0.8, 3}}},
        {{{Kind::kEqualize, 0.8, 0}, {Kind::kInvert, 0.1, 0}}},
        {{{Kind::kTranslateY, 0.7, 9}, {Kind::kAutocontrast, 0.9, 0}}}}},
      {{{{{Kind::kShearX, 0.9, 4}, {Kind::kInvert, 0.2, 0}}},
        {{{Kind::kShearY, 0.9, 8}, {Kind::kInvert, 0.7, 0}}},
        {{{Kind::kEqualize, 0.6, 0}, {Kind::kSolarize, 0.6, 6}}},
        {{{Kind::kInvert, 0.9, 0}, {Kind::kEqualize, 0.6, 0}}},
        {{{Kind::kEqualize, 0.6, 0}, {Kind::kRotate, 0.9, 3}}},
        {{{Kind::kShearX, 0.9, 4}, {Kind::kAutocontrast, 0.8, 0}}},
        {{{Kind::kShearY, 0.9, 8}, {Kind::kInvert, 0.4, 0}}},
        {{{Kind::kShearY, 0.9, 5}, {Kind::kSolarize, 0.2, 6}}},
        {{{Kind::kInvert, 0.9, 0}, {Kind::kAutocontrast, 0.8, 0}}},
        {{{Kind::kEqualize, 0.6, 0}, {Kind::kRotate, 0.9, 3}}},
        {{{Kind::kShearX, 0.9, 4}, {Kind::kSolarize, 0.3, 3}}},
        {{{Kind::kShearY, 0.8, 8}, {Kind::kInvert, 0.7, 0}}},
        {{{Kind::kEqualize, 0.9, 0}, {Kind::kTranslateY, 0.6, 6}}},
        {{{Kind::kInvert, 0.9, 0}, {Kind::kEqualize, 0.6, 0}}},
        {{{Kind::kContrast, 0.3, 3}, {Kind::kRotate, 0.8, 4}}},
        {{{Kind::kInvert, 0.8, 0}, {Kind::kTranslateY, 0, 2}}},
        {{{Kind::kShearY, 0.7, 6}, {Kind::kSolarize, 0.4, 8}}},
        {{{Kind::kInvert, 0.6, 0}, {Kind::kRotate, 0.8, 4}}},
        {{{Kind::kShearY, 0.3, 7}, {Kind::kTranslateX, 0.9, 3}}},
        {{{Kind::kShearX, 0.1, 6}, {Kind::kInvert, 0.6, 0}}},
        {{{Kind::kSolarize, 0.7, 2}, {Kind::kTranslateY, 0.6, 7}}},
        {{{Kind::kShearY, 0.8, 4}, {Kind::kInvert, 0.8, 0}}},
        {{{Kind::kShearX, 0.7, 9}, {Kind::kTranslateY, 0.8, 3}}},
        {{{Kind::kShearY, 0.8, 5}, {Kind::kAutocontrast, 0.7, 0}}},
        {{{Kind::kShearX, 0.7, 2}, {Kind::kInvert, 0.1, 0}}}}},
  }};
};

}  // namespace packhorse::reader::steps
