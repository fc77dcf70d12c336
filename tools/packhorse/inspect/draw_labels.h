#pragma once

#include <cstdint>
#include <opencv2/core.hpp>
#include <set>

#include "packhorse/image/image_info.h"
#include "packhorse/targets/label_image.h"

namespace packhorse::inspect {

/// Tints a picture (BGR, upright, scaled) in the colours of its pixels' classes, by the mask of the
/// stored image that `image` describes; not where they are `ignored`. Adds the labels seen to
/// `seen`.
void draw_labels(cv::Mat& picture, const LabelImage& mask, const ImageInfo& image,
                 std::uint8_t ignored, std::set<std::size_t>& seen);

}  // namespace packhorse::inspect
