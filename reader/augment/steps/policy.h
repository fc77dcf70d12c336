#pragma once

#include <algorithm>

#include "augment/steps/step.h"

namespace packhorse::reader::steps {

/// torchvision's operations of AutoAugment and what followed it, and how strong each can be.
struct Space {
  double shear, degrees, enhance;
  double translate;  ///< of a side, or pixels
  bool translate_side;
  double bits, bits_less;  ///< of posterize: kept at the weakest, fewer at the strongest
  std::size_t kinds;       ///< so many of kPolicyKinds may be drawn

  Operation draw(const Moving& moving, Kind kind, int bin, int bins, ImageSize size,
                 SampleRandom& random) const {
    // torch.linspace() differs in a float's last bit, by the processor.
    const auto linear = [&](double most) { return most * bin / (bins - 1); };
    const auto either = [&](double most) {
      return random.uniform(0, 1) < .5 ? -linear(most) : linear(most);
    };
    const auto way = [&](int side) {
      return std::trunc(either(translate_side ? translate * side : translate));
    };
    switch (kind) {
      case Kind::kShearX:
      case Kind::kShearY:
        return moving.operation(kind, {either(shear)});
      case Kind::kTranslateX:
        return moving.operation(kind, {way(size.width)});
      case Kind::kTranslateY:
        return moving.operation(kind, {way(size.height)});
      case Kind::kRotate:
        return moving.operation(kind, {either(degrees)});
      case Kind::kPosterize:
        return {kind, {std::nearbyint(bits - linear(bits_less))}};
      case Kind::kSolarize:
        return {kind, {255 - linear(255)}};
      case Kind::kBrightness:
      case Kind::kContrast:
      case Kind::kSaturation:
      case Kind::kSharpness:
        return {kind, {1 + either(enhance)}};
      default:
        return {kind};
    }
  }

  Operation draw(const Moving& moving, int bin, int bins, ImageSize size,
                 SampleRandom& random) const;
};

/// Those that every space has come first.
inline constexpr std::array kPolicyKinds = {
    Kind::kShearX,     Kind::kShearY,   Kind::kTranslateX,   Kind::kTranslateY, Kind::kRotate,
    Kind::kPosterize,  Kind::kSolarize, Kind::kAutocontrast, Kind::kEqualize,   Kind::kBrightness,
    Kind::kSaturation, Kind::kContrast, Kind::kSharpness,    Kind::kIdentity};

inline Operation Space::draw(const Moving& moving, int bin, int bins, ImageSize size,
                             SampleRandom& random) const {
  const auto kind =
      kPolicyKinds[static_cast<std::size_t>(random.integer(static_cast<std::int64_t>(kinds)))];
  return draw(moving, kind, bin, bins, size, random);
}

/// RandAugment's and AutoAugment's.
inline constexpr Space kUsualSpace = {.shear = .3,
                                      .degrees = 30,
                                      .enhance = .9,
                                      .translate = 150.0 / 331.0,
                                      .translate_side = true,
                                      .bits = 8,
                                      .bits_less = 4,
                                      .kinds = kPolicyKinds.size()};

inline constexpr int kMostOperations = 16, kMostBins = 1000;

}  // namespace packhorse::reader::steps
