#include "packhorse/image/decoded_image.h"

#include <algorithm>
#include <limits>
#include <new>
#include <opencv2/core.hpp>
#include <string>

#include "image/pnm_image.h"
#include "packhorse/base/error.h"
#include "packhorse/codecs/opencv_codecs.h"

namespace packhorse {

namespace {

/// Decodes pixels as they are stored, and leaves turning, alpha and 16 bits to our own code. A
/// BMP's fourth channel is unused far more often than it is alpha, so BMP is decoded as colour.
cv::Mat decode_by_opencv(Bytes file, ImageKind kind) {
  if (file.size() > std::size_t{std::numeric_limits<int>::max()})
    throw Error(ErrorKind::kUnsupported, "larger than 2 GiB");
  const cv::Mat bytes(1, static_cast<int>(file.size()), CV_8UC1,
                      const_cast<std::byte*>(file.data()));
  using opencv_codecs::Pixels;
  const Pixels pixels = kind == ImageKind::kBmp ? Pixels::kColour : Pixels::kAsStored;
  const std::string what = "damaged " + std::string(name_of(kind));
  try {
    cv::Mat image = opencv_codecs::decode(bytes, pixels);
    if (image.empty()) throw Error(ErrorKind::kCorrupt, what);
    return image;
  } catch (const cv::Exception& error) {
    if (error.code == cv::Error::StsNoMem) throw std::bad_alloc();  // no fault of the file
    throw Error(ErrorKind::kCorrupt, what + ": " + error.err);
  }
}

/// An image that OpenCV decodes.
class OtherImage final : public DecodedImage {
 public:
  OtherImage(Bytes file, const ImageInfo& info)
      : pixels_(decode_by_opencv(file, info.kind)), stored_(pixels_.channels()) {
    width = pixels_.cols;
    height = pixels_.rows;
    if (width != static_cast<int>(info.width) || height != static_cast<int>(info.height))
      throw Error(ErrorKind::kCorrupt, "its header names another size than its pixels have");
    if (stored_ != 1 && stored_ != 3 && stored_ != 4) {
      throw Error(ErrorKind::kUnsupported, "it has " + std::to_string(stored_) + " channels");
    }
    if (pixels_.depth() != CV_8U && pixels_.depth() != CV_16U)
      throw Error(ErrorKind::kUnsupported, "its samples are neither 8 nor 16 bit integers");
    channels = stored_ == 1 ? 1 : 3;
    if (pixels_.depth() == CV_16U) note = "16 bit scaled to 8";
    if (stored_ == 4) note = "alpha flattened onto black";
  }

  void read(int x, int y, int count, std::uint8_t* out) override {
    const cv::Mat part = pixels_(cv::Rect(x, y, count, 1));
    const std::uint8_t* in = part.ptr();
    if (pixels_.depth() == CV_16U) {
      part.convertTo(narrow_, CV_8U, 255.0 / 65535.0);
      in = narrow_.ptr();
    }
    if (stored_ == 1) {
      std::copy_n(in, count, out);
      return;
    }
    for (int i = 0; i < count; ++i, in += stored_) {
      for (int channel = 2; channel >= 0; --channel) {  // OpenCV has BGR
        const unsigned value = in[channel];
        *out++ = static_cast<std::uint8_t>(stored_ == 4 ? (value * in[3] + 127) / 255 : value);
      }
    }
  }

 private:
  cv::Mat pixels_, narrow_;
  int stored_;  ///< channels in the file
};

}  // namespace

std::unique_ptr<DecodedImage> decode_image(Bytes file, const ImageInfo& info) {
  if (info.kind == ImageKind::kPnm) return open_pnm(file);
  return std::make_unique<OtherImage>(file, info);
}

}  // namespace packhorse
