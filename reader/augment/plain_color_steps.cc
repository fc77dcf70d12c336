#include <algorithm>
#include <cstddef>

#include "augment/color_steps.h"

namespace packhorse::reader {

namespace {

struct Color {
  float r, g, b;
};

/// rgb_to_grayscale, truncated.
float grey_of(const Color& c) {
  return static_cast<float>(static_cast<int>(c.r * 0.2989F + c.g * 0.587F + c.b * 0.114F));
}

float clamped(float value) { return std::min(std::max(value, 0.0F), 255.0F); }

Color with_levels(const Color& c, float a, float b) {
  return {clamped(c.r * a + b), clamped(c.g * a + b), clamped(c.b * a + b)};
}

/// One channel of the colour at hue `sixths` (of the circle): HSV to RGB without cases. `n` is 5
/// for red, 3 for green, 1 for blue.
float channel_of(float n, float sixths, float highest, float range) {
  float k = n + sixths;
  k = k >= 6 ? k - 6 : k;
  const float share = std::min(std::min(k, 4 - k), 1.0F);
  // Float to uint8 as convert_image_dtype() does it.
  return (highest - range * std::max(share, 0.0F)) * (255.999F / 255);
}

Color turned(const Color& c, float added) {
  const float highest = std::max(c.r, std::max(c.g, c.b));
  const float range = highest - std::min(c.r, std::min(c.g, c.b));
  const float divisor = range > 0 ? range : 1;
  float sixths = (c.g - c.b) / divisor;
  if (highest != c.r)
    sixths = highest == c.g ? 2 + (c.b - c.r) / divisor : 4 + (c.r - c.g) / divisor;
  sixths += added;
  sixths = sixths < 0 ? sixths + 6 : sixths;
  sixths = sixths >= 6 ? sixths - 6 : sixths;
  return {channel_of(5, sixths, highest, range), channel_of(3, sixths, highest, range),
          channel_of(1, sixths, highest, range)};
}

Color adjusted(const ColorStep& step, const Color& c) {
  switch (step.kind) {
    case ColorStep::Kind::kLevels:
      return with_levels(c, step.a, step.b);
    case ColorStep::Kind::kSaturation:
      return with_levels(c, step.a, step.b * grey_of(c));
    case ColorStep::Kind::kHue:
      return turned(c, step.a);
  }
  return c;
}

void apply_plainly(std::span<std::uint8_t> pixels, std::span<const ColorStep> steps) {
  const auto level = [](float value) { return static_cast<std::uint8_t>(static_cast<int>(value)); };
  for (std::size_t i = 0; i + 2 < pixels.size(); i += 3) {
    std::uint8_t* pixel = pixels.data() + i;
    for (const ColorStep& step : steps) {
      const Color made = adjusted(step, {static_cast<float>(pixel[0]), static_cast<float>(pixel[1]),
                                         static_cast<float>(pixel[2])});
      pixel[0] = level(made.r);
      pixel[1] = level(made.g);
      pixel[2] = level(made.b);
    }
  }
}

std::uint64_t grey_sum_plainly(std::span<const std::uint8_t> pixels) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 2 < pixels.size(); i += 3) {
    sum += static_cast<std::uint64_t>(
        grey_of({static_cast<float>(pixels[i]), static_cast<float>(pixels[i + 1]),
                 static_cast<float>(pixels[i + 2])}));
  }
  return sum;
}

}  // namespace

const ColorSteps& plain_color_steps() {
  static constexpr ColorSteps kPlain = {"plain", grey_sum_plainly, apply_plainly};
  return kPlain;
}

}  // namespace packhorse::reader
