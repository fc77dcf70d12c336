#pragma once

#include <cstddef>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

#include "packhorse/image/image_info.h"
#include "packhorse/targets/objects.h"

namespace packhorse::inspect {

/// Of one picture; the largest ones.
inline constexpr std::size_t kMostDrawn = 1000;

/// Draws objects over a picture (BGR, upright, scaled) of the image that they belong to: boxes in
/// the colours of their classes, with the names where there is room, those of crowds dashed; masks
/// filled translucently, those of crowds hatched; key points as discs, hidden ones as rings.
/// `image` is the stored image, in whose pixels the objects are. Throws Error(kCorrupt) for run
/// lengths of an image of another size.
void draw_objects(cv::Mat& picture, const Objects& objects, const ImageInfo& image,
                  const std::vector<std::string>& names);

}  // namespace packhorse::inspect
