#pragma once

#include <cstddef>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

namespace packhorse::drawing {

/// Whether JPEGs keep the colour of each pixel, as thin lines need, or that of 2 x 2 pixels.
enum class Chroma { kHalved, kFull };

/// Encodes as JPEG, or as the file name extension says, with OpenCV's codecs. Throws Error(kUsage)
/// when OpenCV does not write such pictures.
std::vector<std::byte> encoded(const cv::Mat& picture, Chroma chroma,
                               const std::string& extension = ".jpg");

}  // namespace packhorse::drawing
