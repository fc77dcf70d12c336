#include "codecs/row_source.h"

#include <vector>

#include "codecs/jpeg_session.h"
#include "packhorse/base/error.h"
#include "packhorse/image/cmyk.h"
#include "packhorse/image/decoded_image.h"
#include "packhorse/image/npy.h"

namespace packhorse {

namespace {

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
      // Damage at the very end shows only when the end is read.
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

/// Raw pixels: rows as they are.
class RawRows final : public RowSource {
 public:
  RawRows(Bytes pixels, const ImageInfo& info)
      : next_(reinterpret_cast<const std::uint8_t*>(pixels.data())) {
    if (pixels.size() != pixel_bytes(info) || (info.components != 1 && info.components != 3))
      throw Error(ErrorKind::kCorrupt, "its bytes are not the pixels its size says");
    width = static_cast<int>(info.width);
    height = static_cast<int>(info.height);
    channels = info.components;
  }

  const std::uint8_t* next_row() override {
    const std::uint8_t* row = next_;
    next_ += static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
    return row;
  }

 private:
  const std::uint8_t* next_;
};

/// Any image but a JPEG or raw pixels.
class OtherRows final : public RowSource {
 public:
  OtherRows(Bytes file, const ImageInfo& info) : image_(decode_image(file, info)) {
    width = image_->width;
    height = image_->height;
    channels = image_->channels;
    note = image_->note;
    row_.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(channels));
  }

  const std::uint8_t* next_row() override {
    image_->read(0, y_++, width, row_.data());
    return row_.data();
  }

 private:
  std::unique_ptr<DecodedImage> image_;
  int y_ = 0;
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
  if (info.kind == ImageKind::kRaw) return std::make_unique<RawRows>(file, info);
  if (info.kind != ImageKind::kJpeg) return std::make_unique<OtherRows>(file, info);
  return std::make_unique<JpegRows>(file, info, decode_eighths(info, least_width, least_height));
}

}  // namespace packhorse
