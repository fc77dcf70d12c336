#include <bit>
#include <vector>

#include "codecs/codec.h"
#include "codecs/png/png_session.h"
#include "codecs/png/png_whole.h"

namespace packhorse::codecs {

namespace {

class PngRows final : public PixelRows {
 public:
  PngRows(Bytes file, const ProbeResult& header, const Region& region)
      : session_(file), height_(header.info->height), pixel_(header.layout.pixel_bytes()) {
    const png_structp png = session_.png();
    const png_infop info = session_.info();
    int passes = 1;
    std::size_t row_bytes = 0;
    require([&] {
      png_read_info(png, info);
      png_set_expand(png);  // palettes, fewer bits than 8, and transparent colours
      if constexpr (std::endian::native == std::endian::little) png_set_swap(png);
      passes = png_set_interlace_handling(png);
      png_read_update_info(png, info);
      row_bytes = png_get_rowbytes(png, info);
    });
    if (png_get_image_width(png, info) != header.info->width ||
        png_get_image_height(png, info) != height_ || row_bytes != header.info->width * pixel_)
      damaged("png", "two headers that differ");
    left_ = static_cast<std::size_t>(region.x) * pixel_;
    if (passes > 1) {
      read_all(row_bytes, region);
    } else {
      pixels_.resize(row_bytes);
      for (int y = 0; y < region.y; ++y) read_row();
    }
  }

  const std::byte* next() override {
    if (rows_.empty()) {
      read_row();
    } else {
      row_ = rows_[y_++];
    }
    return reinterpret_cast<const std::byte*>(row_) + left_;
  }

 private:
  template <class Work>
  void require(const Work& work) {
    if (!session_.run(work)) damaged("png", session_.message());
  }

  void read_row() {
    row_ = pixels_.data();
    require([&] { png_read_row(session_.png(), row_, nullptr); });
    // Damage at the very end shows only when the end is read.
    if (++y_ == height_) require([&] { png_read_end(session_.png(), nullptr); });
  }

  void read_all(std::size_t row_bytes, const Region& region) {
    pixels_.resize(row_bytes * height_);
    rows_.resize(height_);
    for (std::size_t y = 0; y < height_; ++y) rows_[y] = pixels_.data() + y * row_bytes;
    require([&] {
      png_read_image(session_.png(), rows_.data());
      png_read_end(session_.png(), nullptr);
    });
    y_ = static_cast<std::size_t>(region.y);
  }

  PngSession session_;
  std::size_t height_, pixel_;
  std::size_t left_ = 0, y_ = 0;
  std::vector<png_byte> pixels_;  ///< a row, or all of an interlaced picture
  std::vector<png_bytep> rows_;   ///< of an interlaced picture
  png_bytep row_ = nullptr;
};

}  // namespace

std::unique_ptr<PixelRows> open_png(Bytes file, const ProbeResult& header, const Region& region) {
  if (auto rows = open_whole_png(file, header, region)) return rows;
  return std::make_unique<PngRows>(file, header, region);
}

}  // namespace packhorse::codecs
