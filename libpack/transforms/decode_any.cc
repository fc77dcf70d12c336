#include "transforms/decode_any.h"

#include <algorithm>
#include <limits>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <vector>

#include "transforms/jpeg_session.h"

namespace packhorse::transforms {

namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::kCorrupt, what); }

/// To RGB without a profile. Adobe's files hold inverted values, and practically all CMYK files are
/// Adobe's.
void cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, int pixels, bool inverted) {
  const unsigned flip = inverted ? 0 : 255;
  for (int i = 0; i < pixels; ++i, cmyk += 4) {
    const unsigned k = cmyk[3] ^ flip;
    for (int channel = 0; channel < 3; ++channel) {
      const unsigned product = (cmyk[channel] ^ flip) * k + 128;
      *rgb++ = static_cast<std::uint8_t>((product + (product >> 8)) >> 8);  // / 255, rounded
    }
  }
}

class JpegRows final : public RowSource {
 public:
  JpegRows(Bytes file, const ImageInfo& info, int eighths) : session_(file) {
    session_.read_header(info.width, info.height);
    jpeg_decompress_struct& jpeg = session_.jpeg();
    cmyk_ = jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
    const bool grey = jpeg.jpeg_color_space == JCS_GRAYSCALE;
    jpeg.out_color_space = cmyk_ ? JCS_CMYK : grey ? JCS_GRAYSCALE : JCS_RGB;
    jpeg.scale_num = static_cast<unsigned>(eighths);
    jpeg.scale_denom = 8;
    session_.run([&] { jpeg_start_decompress(&jpeg); });
    width = static_cast<int>(jpeg.output_width);
    height = static_cast<int>(jpeg.output_height);
    channels = grey ? 1 : 3;
    samples_per_pixel = eighths / 8.0;
    if (cmyk_) note = "CMYK converted to RGB";
    row_.resize(static_cast<std::size_t>(width) * (cmyk_ ? 7 : 3));
  }

  const std::uint8_t* next_row() override {
    jpeg_decompress_struct& jpeg = session_.jpeg();
    std::uint8_t* rgb = row_.data();
    std::uint8_t* row = cmyk_ ? rgb + 3 * static_cast<std::size_t>(width) : rgb;
    session_.run([&] {
      JSAMPROW rows[1] = {row};
      while (jpeg_read_scanlines(&jpeg, rows, 1) == 0) {
      }
      // Damage at the very end shows only when the end is looked at.
      if (jpeg.output_scanline == jpeg.output_height) jpeg_finish_decompress(&jpeg);
    });
    if (cmyk_) cmyk_to_rgb(row, rgb, width, jpeg.saw_Adobe_marker != FALSE);
    return rgb;
  }

 private:
  JpegSession session_;
  bool cmyk_ = false;
  std::vector<std::uint8_t> row_;
};

/// PGM and PPM (P5, P6) that probe_image() has accepted; any maximum value is scaled to 255, which
/// OpenCV does not do.
class PnmRows final : public RowSource {
 public:
  PnmRows(Bytes file, const ImageInfo& info) : text_(as_text(file)) {
    std::size_t at = 2;
    read_number(at);  // width
    read_number(at);  // height
    maximum_ = read_number(at);
    next_ = at + 1;
    width = static_cast<int>(info.width);
    height = static_cast<int>(info.height);
    channels = info.components;
    if (maximum_ > 255) note = "16 bit scaled to 8";
    row_.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(channels));
  }

  const std::uint8_t* next_row() override {
    const auto byte = [&] { return static_cast<unsigned char>(text_[next_++]); };
    for (std::uint8_t& sample : row_) {
      unsigned value = byte();
      if (maximum_ > 255) value = value << 8 | byte();
      value = (std::min(value, maximum_) * 255 + maximum_ / 2) / maximum_;
      sample = static_cast<std::uint8_t>(value);
    }
    return row_.data();
  }

 private:
  /// The number at or after `at`, past white space and comments.
  unsigned read_number(std::size_t& at) const {
    const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
    while (is_space(text_[at]) || text_[at] == '#') {
      if (text_[at] == '#') at = text_.find('\n', at);
      ++at;
    }
    unsigned value = 0;
    for (; text_[at] >= '0' && text_[at] <= '9'; ++at) {
      value = value * 10 + static_cast<unsigned>(text_[at] - '0');
    }
    return value;
  }

  std::string_view text_;
  std::size_t next_ = 0;
  unsigned maximum_ = 255;
  std::vector<std::uint8_t> row_;
};

/// Everything else, through OpenCV.
class OtherRows final : public RowSource {
 public:
  OtherRows(Bytes file, const ImageInfo& info) : pixels_(decode(file, info.kind)) {
    if (pixels_.cols != static_cast<int>(info.width) ||
        pixels_.rows != static_cast<int>(info.height)) {
      refuse("its header names another size than its pixels have");
    }
    stored_ = pixels_.channels();
    if (stored_ != 1 && stored_ != 3 && stored_ != 4) {
      refuse("it has " + std::to_string(stored_) + " channels");
    }
    if (pixels_.depth() != CV_8U && pixels_.depth() != CV_16U) {
      refuse("its samples are neither 8 nor 16 bit integers");
    }
    width = pixels_.cols;
    height = pixels_.rows;
    channels = stored_ == 1 ? 1 : 3;
    if (pixels_.depth() == CV_16U) note = "16 bit scaled to 8";
    if (stored_ == 4) note = "alpha flattened onto black";
    row_.resize(static_cast<std::size_t>(width) * 3);
  }

  const std::uint8_t* next_row() override {
    const int y = y_++;
    const std::uint8_t* in = pixels_.ptr(y);
    if (pixels_.depth() == CV_16U) {
      pixels_.row(y).convertTo(narrow_, CV_8U, 255.0 / 65535.0);
      in = narrow_.ptr();
    }
    if (stored_ == 1) return in;
    std::uint8_t* out = row_.data();
    for (int i = 0; i < width; ++i, in += stored_) {
      const unsigned alpha = stored_ == 4 ? in[3] : 255;
      for (int channel = 2; channel >= 0; --channel) {  // OpenCV has BGR
        *out++ = static_cast<std::uint8_t>((in[channel] * alpha + 127) / 255);
      }
    }
    return row_.data();
  }

 private:
  /// As stored: turning, alpha and 16 bit are our business. A BMP's fourth channel is unused far
  /// more often than it is alpha, so BMP is decoded as colour.
  static cv::Mat decode(Bytes file, ImageKind kind) {
    if (file.size() > std::size_t{std::numeric_limits<int>::max()}) refuse("larger than 2 GiB");
    const cv::Mat bytes(1, static_cast<int>(file.size()), CV_8UC1,
                        const_cast<std::byte*>(file.data()));
    const int flags = kind == ImageKind::kBmp ? cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION
                                              : cv::IMREAD_UNCHANGED;
    const std::string what = "damaged " + std::string(name_of(kind));
    try {
      cv::Mat image = cv::imdecode(bytes, flags);
      if (image.empty()) refuse(what);
      return image;
    } catch (const cv::Exception& error) {
      refuse(what + ": " + error.err);
    }
  }

  cv::Mat pixels_, narrow_;
  int stored_ = 0, y_ = 0;
  std::vector<std::uint8_t> row_;
};

}  // namespace

int decode_eighths(const ImageInfo& info, int least_width, int least_height) {
  for (const unsigned eighths : {1u, 2u, 4u}) {
    if (info.width * eighths / 8 >= static_cast<unsigned>(least_width) &&
        info.height * eighths / 8 >= static_cast<unsigned>(least_height)) {
      return static_cast<int>(eighths);
    }
  }
  return 8;
}

std::unique_ptr<RowSource> open_rows(Bytes file, const ImageInfo& info, int least_width,
                                     int least_height) {
  switch (info.kind) {
    case ImageKind::kJpeg:
      return std::make_unique<JpegRows>(file, info,
                                        decode_eighths(info, least_width, least_height));
    case ImageKind::kPnm:
      return std::make_unique<PnmRows>(file, info);
    default:
      return std::make_unique<OtherRows>(file, info);
  }
}

}  // namespace packhorse::transforms
