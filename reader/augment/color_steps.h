#pragma once

#include <cstdint>
#include <span>

/// Operations on the colours of single pixels: RGB, 8 bit, interleaved. torchvision's for uint8
/// tensors: float32 in between, truncated at the end of each.
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

}  // namespace packhorse::reader
