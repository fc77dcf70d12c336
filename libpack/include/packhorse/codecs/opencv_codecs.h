#pragma once

#include <string>
#include <vector>

namespace cv {
class Mat;
}

/// OpenCV's imgcodecs, loaded when the first image needs it. Linked, it would bring its 140
/// libraries (GDAL and all that it reads) to every start of every program, and most datasets hold
/// nothing but JPEGs, which need none of it. Thread-safe.
///
/// A build without PACKHORSE_IMAGE_CODECS has none of it: everything here then throws
/// Error(kUnsupported), which says what to do with such images.
namespace packhorse::opencv_codecs {

/// What cv::imdecode makes of an image: its channels and depth as they are stored, or 8-bit BGR.
/// The orientation is never applied.
enum class Pixels { kAsStored, kColour };

/// cv::imdecode: an empty Mat for a damaged image. Throws cv::Exception, and Error(kNotFound) with
/// advice when the library cannot be loaded.
cv::Mat decode(const cv::Mat& bytes, Pixels pixels);

/// cv::imencode. Throws as decode() does.
bool encode(const std::string& extension, const cv::Mat& image, std::vector<unsigned char>& bytes,
            const std::vector<int>& parameters);

}  // namespace packhorse::opencv_codecs
