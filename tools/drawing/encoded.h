#pragma once

#include <cstddef>
#include <filesystem>
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

/// The extension that says how a picture is written to `file`. A device or a pipe without one gets
/// a JPEG.
std::string extension_of(const std::filesystem::path& file);

}  // namespace packhorse::drawing
