#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "drawing/draw_objects.h"

namespace packhorse::drawing {

namespace {

constexpr double kFirstHue = 142, kGoldenAngle = 137.50776405003785;  // degrees
constexpr std::size_t kRound = 8;  // classes before the lightness changes
constexpr std::array kLightness = {0.74, 0.62, 0.84};
constexpr double kChroma = 0.19;

/// Of sRGB, from linear light in [0, 1].
std::uint8_t encoded_light(double light) {
  const double x = std::clamp(light, 0.0, 1.0);
  const double value = x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(255 * value));
}

/// From Oklab (Ottosson 2020), where equal lightness looks equally light; clipped to sRGB.
Colour from_oklab(double lightness, double a, double b) {
  const auto cube = [](double x) { return x * x * x; };
  const double l = cube(lightness + 0.3963377774 * a + 0.2158037573 * b);
  const double m = cube(lightness - 0.1055613458 * a - 0.0638541728 * b);
  const double s = cube(lightness - 0.0894841775 * a - 1.2914855480 * b);
  return {encoded_light(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          encoded_light(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          encoded_light(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

}  // namespace

Colour class_colour(std::size_t label) {
  const double hue = std::fmod(kFirstHue + kGoldenAngle * static_cast<double>(label), 360) *
                     std::numbers::pi / 180;
  return from_oklab(kLightness[label / kRound % kLightness.size()], kChroma * std::cos(hue),
                    kChroma * std::sin(hue));
}

Colour ink_on(Colour ground) {
  const double luma = 0.299 * ground.red + 0.587 * ground.green + 0.114 * ground.blue;
  return luma > 130 ? Colour{0, 0, 0} : Colour{255, 255, 255};
}

std::string hex_text(Colour colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

}  // namespace packhorse::drawing
