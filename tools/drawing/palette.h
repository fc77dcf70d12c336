#pragma once

#include <array>
#include <cstdint>
#include <string>

/// Colours of classes, the same in every picture and page.
namespace packhorse::drawing {

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;
};

/// The colour of a class by its number: the next class's hue is the golden angle further, so that
/// classes with near numbers are far apart, and every round of hues has another lightness. All are
/// light enough to be seen on black and dark enough to be seen on white.
Colour class_colour(std::size_t label);

/// Black or white, whichever is easier to read on `ground`.
Colour ink_on(Colour ground);

std::string hex_text(Colour colour);  ///< "#rrggbb"

}  // namespace packhorse::drawing
