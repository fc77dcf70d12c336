#pragma once

#include <array>
#include <cstdint>
#include <span>

/// Changes of colours, once their amounts are drawn.
namespace packhorse::reader {

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
