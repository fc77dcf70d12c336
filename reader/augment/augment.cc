#include "packhorse/reader/augment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

constexpr int kCropTries = 10;  // RandomResizedCrop.get_params
constexpr int kMaxSize = 16384;

void require(bool holds, const std::string& what) {
  if (!holds) throw Error(ErrorKind::kUsage, what);
}

void check_size(const ImageSize& size) {
  const auto fits = [](int side) { return side >= 1 && side <= kMaxSize; };
  require(fits(size.height) && fits(size.width),
          "the sides of the output must be within 1 and 16384 pixels");
}

void check_flip(double flip) {
  require(flip >= 0 && flip <= 1, "the flip probability must be within 0 and 1");
}

void check(const RandomResizedCrop& crop) {
  check_size(crop.size);
  require(crop.min_scale > 0 && crop.min_scale <= crop.max_scale && crop.max_scale <= 1,
          "the crop's scale must be within 0 < min <= max <= 1");
  require(crop.min_ratio > 0 && crop.min_ratio <= crop.max_ratio && std::isfinite(crop.max_ratio),
          "the crop's ratio must be within 0 < min <= max");
  check_flip(crop.flip);
}

void check(const ResizeCenterCrop& crop) {
  check_size(crop.size);
  check_size(crop.resize);
}

void check(const Resize& resize) { check_size(resize.size); }
void check(const CenterCrop& crop) { check_size(crop.size); }

void check(const PadCrop& crop) {
  check_size(crop.size);
  require(crop.padding >= 0 && crop.padding <= kMaxSize, "the padding must be within 0 and 16384");
  check_flip(crop.flip);
}

void check(const DetectionAugment& augment) { augment.validate(); }

/// Python's int(round(x)): halves go to the even number. (The default rounding mode is in force.)
int rounded(double x) { return static_cast<int>(std::nearbyint(x)); }

/// Sets the window of `plan`: RandomResizedCrop.get_params.
void draw_window(const RandomResizedCrop& crop, int width, int height, SampleRandom& random,
                 CropPlan& plan) {
  const double area = static_cast<double>(width) * height;
  const double low = std::log(crop.min_ratio), high = std::log(crop.max_ratio);
  for (int attempt = 0; attempt < kCropTries; ++attempt) {
    const double target = area * random.uniform(crop.min_scale, crop.max_scale);
    const double ratio = std::exp(random.uniform(low, high));
    const int w = rounded(std::sqrt(target * ratio));
    const int h = rounded(std::sqrt(target / ratio));
    if (w <= 0 || w > width || h <= 0 || h > height) continue;
    plan.y = static_cast<int>(random.integer(height - h + 1));
    plan.x = static_cast<int>(random.integer(width - w + 1));
    plan.w = w;
    plan.h = h;
    return;
  }
  // Fallback: the middle of the picture, as much of it as the ratio allows.
  const double ratio = static_cast<double>(width) / height;
  plan.w = width;
  plan.h = height;
  if (ratio < crop.min_ratio) {
    plan.h = std::clamp(rounded(width / crop.min_ratio), 1, height);
  } else if (ratio > crop.max_ratio) {
    plan.w = std::clamp(rounded(height * crop.max_ratio), 1, width);
  }
  plan.x = (width - plan.w) / 2;
  plan.y = (height - plan.h) / 2;
}

CropPlan plan(const RandomResizedCrop& crop, int width, int height, SampleRandom& random) {
  CropPlan plan;
  draw_window(crop, width, height, random, plan);
  plan.scaled_w = crop.size.width;
  plan.scaled_h = crop.size.height;
  plan.flip = random.uniform(0, 1) < crop.flip;
  return plan;
}

/// Where CenterCrop's window begins: int(round((length - size) / 2.0)). In a picture that is too
/// small the window begins before the picture, by the padding (size - length) // 2.
int centre(int length, int size) {
  return length < size ? -((size - length) / 2) : rounded((length - size) / 2.0);
}

CropPlan plan(const ResizeCenterCrop& crop, int width, int height, SampleRandom&) {
  // Resize: the long side becomes int(resize * long / short).
  const auto scaled = [&](int side, int other) {
    if (side <= other) return crop.resize;
    return static_cast<int>(std::min<std::int64_t>(std::int64_t{crop.resize} * side / other,
                                                   std::numeric_limits<int>::max() / 2));
  };
  CropPlan plan{0, 0, width, height};
  plan.scaled_w = scaled(width, height);
  plan.scaled_h = scaled(height, width);
  plan.left = centre(plan.scaled_w, crop.size.width);
  plan.top = centre(plan.scaled_h, crop.size.height);
  return plan;
}

CropPlan plan(const Resize& resize, int width, int height, SampleRandom&) {
  return {0, 0, width, height, resize.size.width, resize.size.height};
}

CropPlan plan(const CenterCrop& crop, int width, int height, SampleRandom&) {
  return {0,
          0,
          width,
          height,
          width,
          height,
          centre(width, crop.size.width),
          centre(height, crop.size.height)};
}

CropPlan plan(const PadCrop& crop, int width, int height, SampleRandom& random) {
  CropPlan plan{0, 0, width, height, crop.size.width, crop.size.height};
  plan.top = static_cast<int>(random.integer(2 * crop.padding + 1)) - crop.padding;
  plan.left = static_cast<int>(random.integer(2 * crop.padding + 1)) - crop.padding;
  plan.flip = random.uniform(0, 1) < crop.flip;
  return plan;
}

CropPlan plan(const DetectionAugment&, int, int, SampleRandom&) {
  throw Error(ErrorKind::kUsage, "a DetectionAugment makes no crops");
}

/// Whether the sample is scaled by the bicubic filter. Drawn last, where it is drawn.
bool draws_bicubic(const auto& crop, SampleRandom& random) {
  if constexpr (requires { crop.interpolation; })
    return crop.interpolation == Interpolation::kBicubic ||
           (crop.interpolation == Interpolation::kRandom && random.integer(2) == 1);
  return false;
}

}  // namespace

ImageSize output_size(const Augment& augment) {
  return std::visit([](const auto& kind) { return kind.size; }, augment);
}

void validate(const Augment& augment) {
  std::visit([](const auto& kind) { check(kind); }, augment);
}

CropPlan plan_crop(const Augment& augment, int width, int height, SampleRandom random) {
  return std::visit(
      [&](const auto& kind) {
        CropPlan made = plan(kind, width, height, random);
        made.bicubic = draws_bicubic(kind, random);
        return made;
      },
      augment);
}

Placement placement_of(const CropPlan& plan, ImageSize size) {
  const double x = static_cast<double>(plan.scaled_w) / plan.w;
  const double y = static_cast<double>(plan.scaled_h) / plan.h;
  const Rect shown{static_cast<double>(plan.x), static_cast<double>(plan.y),
                   static_cast<double>(plan.x + plan.w), static_cast<double>(plan.y + plan.h)};
  return {.shown = shown,
          .scale_x = x,
          .scale_y = y,
          .move_x = -plan.x * x - plan.left,
          .move_y = -plan.y * y - plan.top,
          .warp = Matrix::affine(plan.flip ? -1 : 1, 0, plan.flip ? size.width : 0, 0, 1, 0)};
}

}  // namespace packhorse::reader
