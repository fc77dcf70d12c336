#pragma once

#include <cstddef>
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

}  // namespace packhorse::drawing
