#include "other_images.h"

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <string>

#include "packhorse/error.h"

namespace packhorse::reader {

namespace {

/// Decoded as stored: orientation is the caller's business, alpha and 16 bit are ours. A BMP's
/// fourth channel is unused far more often than it is alpha, so BMP is decoded as colour.
cv::Mat decode_all(Bytes file, ImageKind kind) {
  const cv::Mat bytes(1, static_cast<int>(file.size()), CV_8UC1,
                      const_cast<std::byte*>(file.data()));
  const int flags = kind == ImageKind::kBmp ? cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION
                                            : cv::IMREAD_UNCHANGED;
  const std::string what = "damaged " + std::string(name_of(kind));
  try {
    cv::Mat image = cv::imdecode(bytes, flags);
    if (image.empty()) throw Error(ErrorKind::kCorrupt, what);
    return image;
  } catch (const cv::Exception& error) {
    throw Error(ErrorKind::kCorrupt, what + ": " + error.err);
  }
}

cv::Mat to_8_bit(const cv::Mat& image) {
  if (image.depth() == CV_8U) return image;
  if (image.depth() != CV_16U) {
    throw Error(ErrorKind::kUnsupported, "its samples are neither 8 nor 16 bit integers");
  }
  cv::Mat scaled;
  image.convertTo(scaled, CV_8U, 255.0 / 65535.0);
  return scaled;
}

/// One row of grey, BGR or BGRA to RGB. Alpha is flattened onto black: colour * alpha / 255,
/// rounded.
void to_rgb(const std::uint8_t* in, int channels, int pixels, std::uint8_t* out) {
  for (int i = 0; i < pixels; ++i, in += channels) {
    for (int channel = kChannels - 1; channel >= 0; --channel) {
      const unsigned value = in[channels == 1 ? 0 : channel];
      *out++ = static_cast<std::uint8_t>(channels == 4 ? (value * in[3] + 127) / 255 : value);
    }
  }
}

}  // namespace

PixelView decode_other(Bytes file, const ImageInfo& info, const Window& window,
                       PixelBuffer& buffer) {
  const cv::Mat all = decode_all(file, info.kind);
  if (all.cols != static_cast<int>(info.width) || all.rows != static_cast<int>(info.height)) {
    throw Error(ErrorKind::kCorrupt, "its header names another size than its pixels have");
  }
  const cv::Mat part = to_8_bit(all(cv::Rect(window.x, window.y, window.w, window.h)));
  const int channels = part.channels();
  if (channels != 1 && channels != 3 && channels != 4) {
    throw Error(ErrorKind::kUnsupported, "it has " + std::to_string(channels) + " channels");
  }
  const std::size_t stride = static_cast<std::size_t>(window.w) * kChannels;
  std::uint8_t* rgb = buffer.reserve(stride * static_cast<std::size_t>(window.h));
  for (int row = 0; row < window.h; ++row) {
    to_rgb(part.ptr(row), channels, window.w, rgb + static_cast<std::size_t>(row) * stride);
  }
  return {rgb, window.w, window.h, stride};
}

}  // namespace packhorse::reader
