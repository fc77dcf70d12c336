#pragma once

#include <cstdint>
#include <variant>

/// Which part of a picture becomes a sample, and how: torchvision's definitions, as pure functions
/// of (seed, epoch, sample), so that the result does not depend on the thread.
namespace packhorse::reader {

/// torchvision.transforms.RandomResizedCrop + RandomHorizontalFlip.
struct RandomResizedCrop {
  int size = 224;                                       ///< output pixels, both sides
  double min_scale = 0.08, max_scale = 1.0;             ///< of the picture's area
  double min_ratio = 3.0 / 4.0, max_ratio = 4.0 / 3.0;  ///< width / height, drawn log-uniformly
  double flip = 0.5;                                    ///< probability
};

/// torchvision.transforms.Resize(resize) + CenterCrop(size).
struct ResizeCenterCrop {
  int resize = 256;  ///< short side after resizing
  int size = 224;
};

/// torchvision.transforms.Resize((size, size)): the whole picture, without keeping its aspect
/// ratio.
struct Resize {
  int size = 224;
};

/// torchvision.transforms.CenterCrop(size): no scaling; a picture that is too small gets a black
/// border.
struct CenterCrop {
  int size = 224;
};

/// Resizes to size x size, pads each side with `padding` zeros, cuts a random size x size window,
/// flips: torchvision's RandomCrop(size, padding) + RandomHorizontalFlip, the usual choice for
/// CIFAR.
struct PadCrop {
  int size = 32;
  int padding = 4;
  double flip = 0.5;
};

/// Sizes are at most 16384.
using Augment = std::variant<RandomResizedCrop, ResizeCenterCrop, Resize, CenterCrop, PadCrop>;

int output_size(const Augment& augment);
/// Throws Error(kUsage).
void validate(const Augment& augment);

/// What to do with one picture of width x height (upright: orientation already applied): scale its
/// window (x, y, w, h) to (scaled_w, scaled_h), place the size x size piece that starts at (left,
/// top) of the result, with black outside, and mirror it if `flip`.
struct CropPlan {
  int x = 0, y = 0, w = 0, h = 0;
  int scaled_w = 0, scaled_h = 0;
  int left = 0, top = 0;
  bool flip = false;
};

/// Counter-based random numbers: a stream for each (seed, epoch, sample). Value type.
class SampleRandom {
 public:
  SampleRandom(std::uint64_t seed, std::uint64_t epoch, std::uint64_t sample);
  std::uint64_t next();
  double uniform(double low, double high);  ///< [low, high)
  std::int64_t integer(std::int64_t n);     ///< 0 .. n-1, unbiased; n >= 1
  double normal();                          ///< mean 0, deviation 1; by Box and Muller
  /// Another stream of the same sample, independent of this one: what is drawn for one purpose does
  /// not change what is drawn for another.
  SampleRandom stream(std::uint64_t purpose) const;

 private:
  std::uint64_t key_, counter_ = 0;
};

/// Draws the plan from `random` by torchvision's definitions: RandomResizedCrop.get_params with its
/// ten tries and central fallback, Resize's int(size * long / short), CenterCrop's int(round(rest /
/// 2.0)), halves rounded to even as Python does.
CropPlan plan_crop(const Augment& augment, int width, int height, SampleRandom random);

}  // namespace packhorse::reader
