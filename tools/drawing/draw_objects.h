#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <opencv2/core.hpp>
#include <string>

#include "packhorse/image/image_info.h"
#include "packhorse/targets/objects.h"

namespace packhorse::drawing {

/// Of one picture; the largest ones.
inline constexpr std::size_t kMostDrawn = 1000;

/// Draws objects over a picture (BGR, upright, scaled) of the image that they belong to: boxes in
/// the colours of their classes, those of crowds dashed, with their names where there is room;
/// masks filled translucently, those of crowds hatched; key points as discs, hidden ones as rings.
/// `image` is the stored image, in whose pixels the objects are. `name_of(i)` is object i's. Throws
/// Error(kCorrupt) for run lengths of an image of another size.
void draw_objects(cv::Mat& picture, const Objects& objects, const ImageInfo& image,
                  const std::function<std::string(std::size_t)>& name_of);

// Colours of classes, the same in every picture and page.

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
