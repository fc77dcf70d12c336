#pragma once

#include <cstddef>
#include <filesystem>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

namespace packhorse::drawing {

/// Whether JPEGs keep the colour of each pixel, as thin lines need, or that of 2 x 2 pixels.
enum class Chroma { kHalved, kFull };

/// Encodes a BGR picture as JPEG or PNG, as the file name extension says. Throws Error(kUsage) for
/// another one.
std::vector<std::byte> encoded(const cv::Mat& picture, Chroma chroma,
                               const std::string& extension = ".jpg");

/// The extension that says how a picture is written to `file`. A device or a pipe without one gets
/// a JPEG.
std::string extension_of(const std::filesystem::path& file);

}  // namespace packhorse::drawing
