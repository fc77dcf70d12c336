#pragma once

#include <cstdint>
#include <span>

/// The steps of colour jitter that need all channels of a pixel: RGB, 8 bit, interleaved.
namespace packhorse::reader {

struct ColorSteps {
  const char* name;
  /// The sum of all pixels' grey levels.
  std::uint64_t (*grey_sum)(std::span<const std::uint8_t> pixels);
  void (*saturation)(std::span<std::uint8_t> pixels, double factor);
  void (*hue)(std::span<std::uint8_t> pixels, double turn);  ///< turn: within -0.5 and 0.5
};

/// The variants that this processor can run, the fastest last. All give the same results.
std::span<const ColorSteps> color_steps();

}  // namespace packhorse::reader
