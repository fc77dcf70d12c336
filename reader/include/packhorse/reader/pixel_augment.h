#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "packhorse/reader/augment.h"

/// Changes to a sample's pixels after it has been cropped and scaled: torchvision's definitions, as
/// pure functions of (seed, epoch, sample). Pixels are RGB, 8 bit, interleaved.
namespace packhorse::reader {

/// torchvision.transforms.ColorJitter, as it treats uint8 tensors. Brightness, contrast and
/// saturation are multiplied by a factor from [max(0, 1 - x), 1 + x]; the hue (a circle of length
/// 1) is turned by an amount from [-x, x]; in random order. 0 leaves a property alone.
struct ColorJitter {
  double brightness = 0;
  double contrast = 0;
  double saturation = 0;
  double hue = 0;  ///< at most 0.5
};

/// torchvision.transforms.v2.RandomPhotometricDistort (Liu et al. 2016, arXiv:1512.02325): each of
/// these with its probability, by a factor from its range, or for the hue an amount; contrast before
/// or after saturation and hue; the channels in a random order.
struct PhotometricDistort {
  double probability = 0;  ///< of each; torchvision's default is 0.5
  double min_brightness = 0.875, max_brightness = 1.125;
  double min_contrast = 0.5, max_contrast = 1.5;
  double min_saturation = 0.5, max_saturation = 1.5;
  double min_hue = -0.05, max_hue = 0.05;
};

/// torchvision.transforms.RandomErasing: erases one box of the sample. Runs last.
struct RandomErasing {
  enum class Fill {
    kValue,  ///< `value`
    kNoise,  ///< normal, each channel of each pixel by itself; rounded, clamped
  };
  double probability = 0;
  double min_scale = 0.02, max_scale = 0.33;  ///< of the sample's area
  double min_ratio = 0.3, max_ratio = 3.3;    ///< height / width, drawn log-uniformly
  Fill fill = Fill::kValue;
  std::array<std::uint8_t, 3> value = {0, 0, 0};
  /// Mean and deviation of the noise, in levels. The defaults are ImageNet's: what value="random"
  /// means after torchvision's usual Normalize.
  std::array<double, 3> mean = {123.675, 116.28, 103.53};
  std::array<double, 3> deviation = {58.395, 57.12, 57.375};
};

struct PixelAugment {
  ColorJitter jitter = {};
  PhotometricDistort distort = {};
  RandomErasing erasing = {};
};

/// Throws Error(kUsage).
void validate(const PixelAugment& augment);
/// Whether it leaves every sample unchanged.
bool does_nothing(const PixelAugment& augment);

/// The values that ColorJitter drew.
struct ColorPlan {
  enum class Step : std::uint8_t { kBrightness, kContrast, kSaturation, kHue };
  std::array<Step, 4> order = {Step::kBrightness, Step::kContrast, Step::kSaturation, Step::kHue};
  double brightness = 1, contrast = 1, saturation = 1;  ///< 0 or more
  double hue = 0;                                       ///< within -0.5 and 0.5
};
ColorPlan plan_colors(const ColorJitter& jitter, SampleRandom random);
/// Keeps each channel of each pixel within 1 of torchvision's after each step. Steps that do
/// nothing cost nothing.
void adjust_colors(const ColorPlan& plan, std::span<std::uint8_t> pixels);

/// The values that PhotometricDistort drew; channel c becomes what channel channels[c] was.
struct DistortPlan {
  ColorPlan colors = {};
  std::array<std::uint8_t, 3> channels = {0, 1, 2};
};
DistortPlan plan_distort(const PhotometricDistort& distort, SampleRandom random);
/// Within 1 of torchvision's after each step.
void distort(const DistortPlan& plan, std::span<std::uint8_t> pixels);

/// The box that RandomErasing drew, inside the sample; empty when it erases nothing.
struct ErasePlan {
  int x = 0, y = 0, w = 0, h = 0;
};
/// RandomErasing.get_params with its ten tries.
ErasePlan plan_erasing(const RandomErasing& erasing, int width, int height, SampleRandom& random);
/// Erases the plan's box in `pixels`, which have rows of `width`; draws the noise from `random`.
void erase(const RandomErasing& erasing, const ErasePlan& plan, int width, SampleRandom random,
           std::span<std::uint8_t> pixels);

/// Applies all of `augment` to a sample with rows of `width` pixels. Its draws neither depend on
/// nor change what `random` gives to plan_crop().
void apply(const PixelAugment& augment, SampleRandom random, int width,
           std::span<std::uint8_t> pixels);

}  // namespace packhorse::reader
