#include "codecs/png_encode.h"

#include <new>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "packhorse/base/error.h"
#include "packhorse/codecs/opencv_codecs.h"

namespace packhorse {

void encode_png(const ImageInfo& image, Bytes pixels, std::vector<std::byte>& png) {
  constexpr std::uint32_t kLongestSide = 1'000'000;  // libpng's limit
  if (image.width > kLongestSide || image.height > kLongestSide)
    throw Error(ErrorKind::kUnsupported, "its sides are longer than a PNG's may be");
  constexpr int kLevel = 6;  // zlib's own
  const int rows = static_cast<int>(image.height), columns = static_cast<int>(image.width);
  try {
    cv::Mat picture(rows, columns, image.components == 3 ? CV_8UC3 : CV_8UC1,
                    const_cast<std::byte*>(pixels.data()));
    if (image.components == 3) {
      cv::Mat bgr(rows, columns, CV_8UC3);
      cv::mixChannels({picture}, {bgr}, {0, 2, 1, 1, 2, 0});
      picture = bgr;
    }
    thread_local std::vector<unsigned char> bytes;
    if (!opencv_codecs::encode(".png", picture, bytes, {cv::IMWRITE_PNG_COMPRESSION, kLevel}))
      throw Error(ErrorKind::kUnsupported, "OpenCV cannot make a PNG of it");
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    png.assign(begin, begin + bytes.size());
  } catch (const cv::Exception& error) {
    if (error.code == cv::Error::StsNoMem) throw std::bad_alloc();
    throw Error(ErrorKind::kUnsupported, "OpenCV cannot make a PNG of it: " + error.err);
  }
}

}  // namespace packhorse
