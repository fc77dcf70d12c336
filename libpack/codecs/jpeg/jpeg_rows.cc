#include <algorithm>
#include <vector>

#include "base/stop.h"
#include "codecs/codec.h"
#include "codecs/colour_rows.h"
#include "codecs/jpeg/jpeg_session.h"
#include "packhorse/base/error.h"

namespace packhorse::codecs {

namespace {

class JpegRows final : public ColourRows {
 public:
  JpegRows(Bytes file, const ImageInfo& info, const ColourRequest& request) : session_(file) {
    session_.read_header(info.width, info.height);
    jpeg_decompress_struct& jpeg = session_.jpeg();
    cmyk_ = jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
    const bool grey = jpeg.jpeg_color_space == JCS_GRAYSCALE;
    jpeg.out_color_space = cmyk_ ? JCS_CMYK : grey ? JCS_GRAYSCALE : JCS_RGB;
    jpeg.scale_num = static_cast<unsigned>(request.eighths);
    jpeg.scale_denom = 8;
    session_.run([&] { jpeg_start_decompress(&jpeg); });
    channels = grey ? 1 : 3;
    samples_per_pixel = request.eighths / 8.0;
    if (cmyk_) note = "CMYK converted to RGB";
    Region region = request.region;
    if (region.width == 0) {
      region = {0, 0, static_cast<int>(jpeg.output_width), static_cast<int>(jpeg.output_height)};
    }
    if (region.x + region.width > static_cast<int>(jpeg.output_width) ||
        region.y + region.height > static_cast<int>(jpeg.output_height))
      throw Error(ErrorKind::kCorrupt, "damaged JPEG: its picture is smaller than it says");
    width = region.width;
    height = region.height;
    skip_to(region);
  }

  const std::uint8_t* next_row() override {
    read_row();
    std::uint8_t* row = row_.data();
    if (!cmyk_) return row + left_ * static_cast<std::size_t>(channels);
    // In place: a pixel of RGB is never written beyond the pixel of CMYK it is made of.
    cmyk_to_rgb(row + 4 * left_, row, width);
    return row;
  }

 private:
  /// The library crops and skips without changing a pixel, except in pictures with sampling like 4
  /// x 2 that are also scaled: those are decoded from their corner on.
  bool crops_well() {
    const jpeg_decompress_struct& jpeg = session_.jpeg();
    return jpeg.scale_num == jpeg.scale_denom ||
           jpeg.max_h_samp_factor * jpeg.max_v_samp_factor <= 4;
  }

  void skip_to(const Region& region) {
    jpeg_decompress_struct& jpeg = session_.jpeg();
    left_ = static_cast<std::size_t>(region.x);
    const bool crops = crops_well();
    if (crops) left_ -= crop_columns(region);
    row_.resize(std::size_t{jpeg.output_width} * (cmyk_ ? 4 : static_cast<std::size_t>(channels)));
    if (crops && region.y > 0) {
      session_.run([&] { jpeg_skip_scanlines(&jpeg, static_cast<JDIMENSION>(region.y)); });
    } else {
      for (int y = 0; y < region.y; ++y) read_row();
    }
  }

  /// Limits decoding to the columns the region needs and returns the first of them. Chroma is
  /// interpolated from its neighbours, so the columns next to the region are decoded too, and
  /// always enough of them that the library interpolates in the same way.
  std::size_t crop_columns(const Region& region) {
    jpeg_decompress_struct& jpeg = session_.jpeg();
    const int all = static_cast<int>(jpeg.output_width);
    const int margin = std::max(2 * jpeg.max_h_samp_factor, (32 - region.width) / 2);
    const int left = std::max(0, region.x - margin);
    const int right = std::min(all, region.x + region.width + margin);
    if (left == 0 && right == all) return 0;
    JDIMENSION x = static_cast<JDIMENSION>(left), w = static_cast<JDIMENSION>(right - left);
    session_.run([&] { jpeg_crop_scanline(&jpeg, &x, &w); });
    return x;
  }

  void read_row() {
    obey_stop();
    jpeg_decompress_struct& jpeg = session_.jpeg();
    std::uint8_t* row = row_.data();
    session_.run([&] {
      JSAMPROW rows[1] = {row};
      while (jpeg_read_scanlines(&jpeg, rows, 1) == 0) {
      }
      // Damage at the very end shows only when the end is read.
      if (jpeg.output_scanline == jpeg.output_height) jpeg_finish_decompress(&jpeg);
    });
  }

  JpegSession session_;
  bool cmyk_ = false;
  std::size_t left_ = 0;  ///< of the region, in what the library gives
  std::vector<std::uint8_t> row_;
};

}  // namespace

std::unique_ptr<ColourRows> open_jpeg(Bytes file, const ImageInfo& info,
                                      const ColourRequest& request) {
  return std::make_unique<JpegRows>(file, info, request);
}

}  // namespace packhorse::codecs
