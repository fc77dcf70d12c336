#pragma once

#include <algorithm>
#include <iterator>

#include "augment/steps/policy.h"

namespace packhorse::reader::steps {

/// timm.data.auto_augment.rand_augment_transform(): other operations and magnitudes than
/// RandAugment's, each with probability p. Also written as timm's text, "rand-m9-mstd0.5-inc1". The
/// operations are torchvision's; `fill` is the mean of ImageNet, as timm's create_transform() gives
/// it.
struct TimmRandAugment {
  static constexpr std::string_view kName = "TimmRandAugment";
  static constexpr std::string_view kSummary =
      "timm's RandAugment: so many operations with probability p, magnitudes of 0 to magnitude_max "
      "with deviation magnitude_std (above 100: any up to the magnitude); increasing=1: larger "
      "ones do more";
  static constexpr bool kMovesPixels = true;

  static constexpr std::array<std::string_view, 4> kWords = {"random", "nearest", "bilinear",
                                                             "bicubic"};
  static constexpr std::array kKinds = {Kind::kAutocontrast, Kind::kEqualize,   Kind::kInvert,
                                        Kind::kRotate,       Kind::kPosterize,  Kind::kSolarize,
                                        Kind::kSolarizeAdd,  Kind::kSaturation, Kind::kContrast,
                                        Kind::kBrightness,   Kind::kSharpness,  Kind::kShearX,
                                        Kind::kShearY,       Kind::kTranslateX, Kind::kTranslateY};
  static constexpr double kFullMagnitude = 10, kUniformStd = 100, kMostMagnitude = 100;

  double magnitude = 10, num_ops = 2, p = 0.5, magnitude_std = 0, magnitude_max = 10;
  double increasing = 0;
  Word interpolation{kWords};  ///< random: bilinear or bicubic
  std::array<double, 3> fill = {124, 116, 104};

  template <class Self, class Visit>
  static void parameters(Self& self, const Visit& visit) {
    visit("magnitude", self.magnitude);
    visit("num_ops", self.num_ops);
    visit("p", self.p);
    visit("magnitude_std", self.magnitude_std);
    visit("magnitude_max", self.magnitude_max);
    visit("increasing", self.increasing);
    visit("interpolation", self.interpolation);
    visit("fill", self.fill);
  }

  void check() const {
    require(is_whole(num_ops, 0, kMostOperations), kName,
            "num_ops must be a whole number of 0 to 16");
    require(magnitude >= 0 && magnitude <= kMostMagnitude && magnitude_max > 0 &&
                magnitude_max <= kMostMagnitude,
            kName, "the magnitude must be within 0 and 100, magnitude_max above 0 and up to 100");
    require(is_amount(magnitude_std), kName, "magnitude_std must be 0 or more");
    require(is_probability(p), kName, "the probability must be within 0 and 1");
    require(increasing == 0 || increasing == 1, kName, "increasing: give 0 or 1");
    moving(0).check(kName);
  }

  Operations plan(ImageSize size, SampleRandom random) const {
    Operations plan;
    for (int i = 0; i < static_cast<int>(num_ops); ++i) {
      const Kind kind = kKinds[static_cast<std::size_t>(random.integer(std::ssize(kKinds)))];
      if (happens(p, random)) plan.push_back(draw(kind, size, random));
    }
    return plan;
  }

 private:
  Moving moving(std::size_t chosen) const {
    return {.interpolation = {kInterpolations, chosen}, .fill = fill};
  }

  double draw_magnitude(SampleRandom& random) const {
    double drawn = magnitude;
    if (magnitude_std > kUniformStd) {
      drawn = random.uniform(0, magnitude);
    } else if (magnitude_std > 0) {
      drawn += random.normal() * magnitude_std;
    }
    return std::clamp(drawn, 0.0, magnitude_max);
  }

  Operation draw(Kind kind, ImageSize size, SampleRandom& random) const {
    const double level = draw_magnitude(random) / kFullMagnitude;
    const auto either = [&](double x) { return random.uniform(0, 1) < .5 ? -x : x; };
    const auto move = [&](double most) {
      const std::size_t chosen = interpolation.chosen > 0
                                     ? interpolation.chosen - 1
                                     : 1 + static_cast<std::size_t>(random.integer(2));
      return moving(chosen).operation(kind, {either(level * most)});
    };
    switch (kind) {
      case Kind::kRotate:
        return move(30);
      case Kind::kShearX:
      case Kind::kShearY:
        return move(.3);
      case Kind::kTranslateX:
        return move(.45 * size.width);
      case Kind::kTranslateY:
        return move(.45 * size.height);
      case Kind::kPosterize: {
        const double bits = std::trunc(level * 4);
        return {kind, {std::clamp(increasing == 1 ? 4 - bits : bits, 0.0, 8.0)}};
      }
      case Kind::kSolarize: {
        const double threshold = std::min(256.0, std::trunc(level * 256));
        return {kind, {increasing == 1 ? 256 - threshold : threshold}};
      }
      case Kind::kSolarizeAdd:
        return {kind, {std::min(128.0, std::trunc(level * 110))}};
      case Kind::kSaturation:
      case Kind::kContrast:
      case Kind::kBrightness:
      case Kind::kSharpness:
        return {kind, {increasing == 1 ? std::max(.1, 1 + either(level * .9)) : level * 1.8 + .1}};
      default:
        return {kind};
    }
  }
};

}  // namespace packhorse::reader::steps
