#pragma once

#include <array>
#include <cstdint>
#include <span>

/// The steps of colour jitter: RGB, 8 bit, interleaved.
namespace packhorse::reader {

/// One of them; its result is truncated to whole levels.
struct ColorStep {
  enum class Kind : std::uint8_t {
    kLevels,      ///< each channel by itself becomes level * a + b
    kSaturation,  ///< level * a + grey * b
    kHue,         ///< turned by a sixths of the circle
  };
  Kind kind;
  float a, b = 0;
};

struct ColorSteps {
  const char* name;
  /// The sum of all pixels' grey levels.
  std::uint64_t (*grey_sum)(std::span<const std::uint8_t> pixels);
  /// All steps in one pass over the pixels.
  void (*apply)(std::span<std::uint8_t> pixels, std::span<const ColorStep> steps);
};

/// In plain C++, for any processor: what the others are tested against.
const ColorSteps& plain_color_steps();
/// The fastest this processor can run, with the same results.
ColorSteps fastest_color_steps();

struct ColorPlan {
  enum class Step : std::uint8_t { kBrightness, kContrast, kSaturation, kHue };
  std::array<Step, 4> order = {Step::kBrightness, Step::kContrast, Step::kSaturation, Step::kHue};
  double brightness = 1, contrast = 1, saturation = 1;  ///< factors, 0 or more
  double hue = 0;                                       ///< within -0.5 and 0.5
};

/// torchvision.transforms.v2.functional's adjust_brightness, adjust_contrast, adjust_saturation and
/// adjust_hue for uint8 tensors: float32 in between, truncated (not rounded) at the end of each.
/// Keeps each channel of each pixel within 1 of torchvision's after each step. Steps that do
/// nothing cost nothing.
void adjust_colors(const ColorPlan& plan, std::span<std::uint8_t> pixels);

}  // namespace packhorse::reader
