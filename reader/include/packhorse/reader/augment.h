#pragma once

#include <cstdint>
#include <variant>

#include "packhorse/reader/detection_augment.h"
#include "packhorse/reader/geometry.h"
#include "packhorse/reader/sample_random.h"

/// Which part of an image becomes a sample, and how: torchvision's definitions, as pure functions
/// of (seed, epoch, sample), so that the result does not depend on the thread.
namespace packhorse::reader {

/// The filter of scaling, always with antialiasing, as in torchvision and Pillow.
enum class Interpolation : std::uint8_t {
  kBilinear,
  kBicubic,
  kRandom,  ///< one of the two for each sample: timm's "random"
};

/// torchvision.transforms.RandomResizedCrop + RandomHorizontalFlip.
struct RandomResizedCrop {
  ImageSize size = 224;                                 ///< output pixels; a number: of both sides
  double min_scale = 0.08, max_scale = 1.0;             ///< of the picture's area
  double min_ratio = 3.0 / 4.0, max_ratio = 4.0 / 3.0;  ///< width / height, drawn log-uniformly
  double flip = 0.5;                                    ///< probability
  Interpolation interpolation = Interpolation::kBilinear;
};

/// torchvision.transforms.Resize(resize) + CenterCrop(size).
struct ResizeCenterCrop {
  int resize = 256;  ///< short side after resizing
  ImageSize size = 224;
  Interpolation interpolation = Interpolation::kBilinear;
};

/// torchvision.transforms.Resize((height, width)): the whole picture, without keeping its aspect
/// ratio.
struct Resize {
  ImageSize size = 224;
  Interpolation interpolation = Interpolation::kBilinear;
};

/// torchvision.transforms.CenterCrop(size): no scaling; a picture that is too small gets a black
/// border.
struct CenterCrop {
  ImageSize size = 224;
};

/// Resizes to `size`, pads each side with `padding` zeros, cuts a random window of `size`, flips:
/// torchvision's RandomCrop(size, padding) + RandomHorizontalFlip, the usual choice for CIFAR.
struct PadCrop {
  ImageSize size = 32;
  int padding = 4;
  double flip = 0.5;
  Interpolation interpolation = Interpolation::kBilinear;
};

/// Sides are at most 16384 pixels. All but the last are crops.
using Augment = std::variant<RandomResizedCrop, ResizeCenterCrop, Resize, CenterCrop, PadCrop,
                             DetectionAugment>;

ImageSize output_size(const Augment& augment);
/// Throws Error(kUsage).
void validate(const Augment& augment);

/// What to do with one picture of width x height (upright: orientation already applied): scale its
/// window (x, y, w, h) to (scaled_w, scaled_h), place the piece of the output's size that starts at
/// (left, top) of the result, with black outside, and mirror it if `flip`.
struct CropPlan {
  int x = 0, y = 0, w = 0, h = 0;
  int scaled_w = 0, scaled_h = 0;
  int left = 0, top = 0;
  bool flip = false;
  bool bicubic = false;  ///< how it is scaled; otherwise bilinear
};

/// Draws the plan from `random` by torchvision's definitions: RandomResizedCrop.get_params with its
/// ten tries and central fallback, Resize's int(size * long / short), CenterCrop's int(round(rest /
/// 2.0)), halves rounded to even as Python does. Throws Error(kUsage) for a DetectionAugment, which
/// makes no crops.
CropPlan plan_crop(const Augment& augment, int width, int height, SampleRandom random);

/// The same plan as a placement in an output of `size`.
Placement placement_of(const CropPlan& plan, ImageSize size);

}  // namespace packhorse::reader
