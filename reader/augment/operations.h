#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pixels/affine.h"
#include "pixels/pixels.h"

/// What the pixel steps are made of: changes of a picture with their numbers.
///
///     perform({{Kind::kRotate, {8.7}}, {Kind::kPosterize, {5}}}, picture);
namespace packhorse::reader {

/// The sample: RGB, 8 bit, interleaved. Operations that read other pixels than they write copy the
/// picture to `scratch` first.
struct Picture {
  std::span<std::uint8_t> pixels;
  int width;
  PixelBuffer& scratch;
  int height() const { return static_cast<int>(pixels.size() / kChannels) / width; }
  ImageSize size() const { return {height(), width}; }
  PixelView copy() const;
};

/// Each is the function of torchvision.transforms.v2.functional of that name, for uint8 tensors.
struct Operation {
  enum class Kind : std::uint8_t {
    kIdentity,
    kBrightness,    ///< (factor): adjust_brightness
    kContrast,      ///< (factor)
    kSaturation,    ///< (factor)
    kHue,           ///< (part of the circle)
    kSwapChannels,  ///< (r, g, b): channel 0 becomes what channel r was, ...
    kSharpness,     ///< (factor)
    kPosterize,     ///< (bits)
    kSolarize,      ///< (threshold)
    kSolarizeAdd,   ///< (levels): timm's; levels below 128 get so much more
    kAutocontrast,
    kEqualize,
    kInvert,
    kGrayscale,
    kGaussianBlur,  ///< (width, height, sigma): of the kernel, in pixels
    kHorizontalFlip,
    kVerticalFlip,
    kShearX,      ///< (tangent), from the top left corner; AutoAugment's
    kShearY,      ///< (tangent)
    kTranslateX,  ///< (pixels) to the right
    kTranslateY,  ///< (pixels) downwards
    kRotate,      ///< (degrees) counterclockwise
    kAffine,      ///< (degrees clockwise, right, down, scale, shear x, shear y in degrees)
  };
  Kind kind = Kind::kIdentity;
  std::array<double, 6> values = {};
  /// Of operations that move pixels.
  WarpInterpolation interpolation = WarpInterpolation::kNearest;
  Colour fill = {};

  /// "Rotate(8.7)", "ShearX(0.09, bilinear)".
  std::string text() const;
};

using Operations = std::vector<Operation>;

/// The words of WarpInterpolation, in its order.
inline constexpr std::array<std::string_view, 3> kInterpolations = {"nearest", "bilinear",
                                                                    "bicubic"};

/// "Rotate(8.7), Posterize(5)".
std::string text_of(const Operations& operations);

/// Does all of them in their order. Colours change in one pass wherever they follow each other; the
/// pixels are those of one operation after the other. One within 1 level of torchvision's, moved
/// pixels as docs/augment.md says.
void perform(const Operations& operations, const Picture& picture);

}  // namespace packhorse::reader
