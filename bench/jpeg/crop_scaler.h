#pragma once

#include <vector>

#include "decode/resample.h"
#include "packhorse/jpeg/decoder.h"

namespace packhorse::bench {

/// Hands on what the decoder makes.
class Rows : public jpeg::RowSink {
 public:
  Rows(int width, reader::PixelSink& sink) : width_(width), sink_(sink) {}
  void take(const std::uint8_t* rows, std::size_t stride, std::uint32_t count) override {
    sink_.take({rows, width_, static_cast<int>(count), stride});
  }

 private:
  int width_;
  reader::PixelSink& sink_;
};

/// Decodes a crop and scales it, the crop first and then all of it, or each row as it comes.
class CropScaler {
 public:
  enum Way { kCropFirst, kRowByRow };

  void run(Bytes file, std::uint32_t width, std::uint32_t height, const jpeg::Window& crop,
           Way way) {
    const auto of = [](std::uint32_t n) { return static_cast<int>(n); };
    const reader::CropPlan plan{.x = of(crop.x),
                                .y = of(crop.y),
                                .w = of(crop.width),
                                .h = of(crop.height),
                                .scaled_w = kSize,
                                .scaled_h = kSize};
    const reader::Window w =
        resampler_.prepare(plan, reader::Turn(1), kSize, of(width), of(height));
    const jpeg::Window window{static_cast<std::uint32_t>(w.x), static_cast<std::uint32_t>(w.y),
                              static_cast<std::uint32_t>(w.w), static_cast<std::uint32_t>(w.h)};
    resampler_.write_to(slot_.data(), std::size_t{kSize} * 3);
    if (way == kRowByRow) {
      Rows rows(w.w, resampler_);
      (void)jpeg::decode(file, window, rows, scratch_);
      return;
    }
    const std::size_t stride = std::size_t{3} * window.width, bytes = stride * window.height;
    std::uint8_t* pixels = window_.reserve(bytes);
    (void)jpeg::decode(file, window, {{pixels, bytes}, stride}, scratch_);
    resampler_.take({pixels, w.w, w.h, stride});
  }
  std::size_t kept_bytes() const {
    return scratch_.kept_bytes() + resampler_.kept_bytes() + window_.capacity();
  }

 private:
  static constexpr int kSize = 224;
  jpeg::Scratch scratch_;
  reader::Resampler resampler_;
  reader::PixelBuffer window_;
  std::vector<std::uint8_t> slot_ = std::vector<std::uint8_t>(std::size_t{kSize} * kSize * 3);
};

}  // namespace packhorse::bench
