#include "packhorse/reader/pixel_augment.h"

#include <cmath>

#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

// Random streams: one for each purpose.
constexpr std::uint64_t kColors = 1, kErasing = 2, kNoise = 3, kDistort = 4;

void require(bool holds, const char* what) {
  if (!holds) throw Error(ErrorKind::kUsage, what);
}

bool is_amount(double x) { return x >= 0 && std::isfinite(x); }

}  // namespace

void validate(const PixelAugment& augment) {
  const ColorJitter& jitter = augment.jitter;
  require(
      is_amount(jitter.brightness) && is_amount(jitter.contrast) && is_amount(jitter.saturation),
      "brightness, contrast and saturation must be 0 or more");
  require(jitter.hue >= 0 && jitter.hue <= 0.5, "the hue must be within 0 and 0.5");
  const PhotometricDistort& distort = augment.distort;
  require(distort.probability >= 0 && distort.probability <= 1,
          "the probability of photometric distortion must be within 0 and 1");
  const auto is_range = [](double least, double most) {
    return is_amount(least) && least <= most && std::isfinite(most);
  };
  require(is_range(distort.min_brightness, distort.max_brightness) &&
              is_range(distort.min_contrast, distort.max_contrast) &&
              is_range(distort.min_saturation, distort.max_saturation),
          "brightness, contrast and saturation must be within 0 <= min <= max");
  require(distort.min_hue >= -0.5 && distort.min_hue <= distort.max_hue && distort.max_hue <= 0.5,
          "the hue must be within -0.5 <= min <= max <= 0.5");
  const RandomErasing& erasing = augment.erasing;
  require(erasing.probability >= 0 && erasing.probability <= 1,
          "the probability of erasing must be within 0 and 1");
  require(
      erasing.min_scale >= 0 && erasing.min_scale <= erasing.max_scale && erasing.max_scale <= 1,
      "the erased scale must be within 0 <= min <= max <= 1");
  require(erasing.min_ratio > 0 && erasing.min_ratio <= erasing.max_ratio &&
              std::isfinite(erasing.max_ratio),
          "the erased ratio must be within 0 < min <= max");
  for (int c = 0; c < 3; ++c) {
    const auto channel = static_cast<std::size_t>(c);
    require(std::isfinite(erasing.mean[channel]) && is_amount(erasing.deviation[channel]),
            "the noise's mean must be a number, its deviation 0 or more");
  }
}

bool does_nothing(const PixelAugment& augment) {
  const ColorJitter& jitter = augment.jitter;
  return jitter.brightness == 0 && jitter.contrast == 0 && jitter.saturation == 0 &&
         jitter.hue == 0 && augment.distort.probability <= 0 && augment.erasing.probability <= 0;
}

void apply(const PixelAugment& augment, SampleRandom random, int width,
           std::span<std::uint8_t> pixels) {
  adjust_colors(plan_colors(augment.jitter, random.stream(kColors)), pixels);
  if (augment.distort.probability > 0)
    distort(plan_distort(augment.distort, random.stream(kDistort)), pixels);
  if (augment.erasing.probability <= 0) return;
  const int height = static_cast<int>(pixels.size() / 3) / width;
  SampleRandom draws = random.stream(kErasing);
  const ErasePlan plan = plan_erasing(augment.erasing, width, height, draws);
  erase(augment.erasing, plan, width, random.stream(kNoise), pixels);
}

}  // namespace packhorse::reader
