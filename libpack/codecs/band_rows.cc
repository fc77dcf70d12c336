#include "codecs/band_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/stop.h"
#include "codecs/codec.h"

namespace packhorse {

namespace {

/// Numbers of the bands to be shown, of a picture that has `most`.
std::vector<std::size_t> checked_bands(std::span<const int> bands, std::size_t most) {
  std::vector<std::size_t> numbers;
  for (const int band : bands) {
    if (band < 0 || static_cast<std::size_t>(band) >= most)
      throw Error(ErrorKind::kUnsupported,
                  "it has " + std::to_string(most) + " bands, and no band " + std::to_string(band));
    numbers.push_back(static_cast<std::size_t>(band));
  }
  return numbers;
}

/// Picks and converts the samples of rows of pixels, `channels` of them in each.
class Picker {
 public:
  Picker(std::span<const int> bands, std::size_t channels)
      : bands_(checked_bands(bands, channels)), channels_(channels) {
    all_ = bands_.size() == channels;
    for (std::size_t i = 0; all_ && i < channels; ++i) all_ = bands_[i] == i;
  }

  void pick(const std::byte* in, int bits, int pixels, float* out) const {
    const auto count = static_cast<std::size_t>(pixels);
    if (bits == 8) return convert<std::uint8_t>(in, count, out);
    if (bits == 16) return convert<std::uint16_t>(in, count, out);
    convert<float>(in, count, out);
  }

 private:
  template <class Sample>
  static float fraction(const std::byte* at) {
    Sample sample;
    std::memcpy(&sample, at, sizeof sample);
    if constexpr (std::is_same_v<Sample, float>) {
      return sample;
    } else {
      return static_cast<float>(sample) / static_cast<float>(std::numeric_limits<Sample>::max());
    }
  }

  template <class Sample>
  void convert(const std::byte* in, std::size_t count, float* out) const {
    if (all_) {
      for (std::size_t i = 0; i < count * channels_; ++i)
        out[i] = fraction<Sample>(in + i * sizeof(Sample));
      return;
    }
    for (std::size_t i = 0; i < count; ++i, in += channels_ * sizeof(Sample))
      for (const std::size_t band : bands_) *out++ = fraction<Sample>(in + band * sizeof(Sample));
  }

  std::vector<std::size_t> bands_;
  std::size_t channels_;
  bool all_ = false;
};

class StoredBands final : public BandRows {
 public:
  StoredBands(codecs::OpenedPixels opened, const Region& region, std::span<const int> bands)
      : rows_(std::move(opened.rows)), picker_(bands, opened.layout.channels) {
    layout = {opened.layout.channels, opened.layout.bits};
    width = region.width;
    height = region.height;
  }
  void next_row(float* out) override {
    obey_stop();
    picker_.pick(rows_->next(), layout.bits, width, out);
  }

 private:
  std::unique_ptr<codecs::PixelRows> rows_;
  Picker picker_;
};

/// A JPEG's colours.
class ColourBands final : public BandRows {
 public:
  ColourBands(std::unique_ptr<ColourRows> rows, std::span<const int> bands)
      : rows_(std::move(rows)), picker_(bands, static_cast<std::size_t>(rows_->channels)) {
    layout = {rows_->channels, 8};
    width = rows_->width;
    height = rows_->height;
  }
  void next_row(float* out) override {
    picker_.pick(reinterpret_cast<const std::byte*>(rows_->next_row()), 8, width, out);
  }

 private:
  std::unique_ptr<ColourRows> rows_;
  Picker picker_;
};

}  // namespace

BandLayout band_layout(Bytes file, const ImageInfo& info) {
  if (info.kind == ImageKind::kJpeg) return {info.components == 1 ? 1 : 3, 8};
  const PixelLayout layout = codecs::header_to_open(file, info).layout;
  return {layout.channels, layout.bits};
}

std::unique_ptr<BandRows> open_bands(Bytes file, const ImageInfo& info, const Region& region,
                                     std::span<const int> bands) {
  if (info.kind == ImageKind::kJpeg)
    return std::make_unique<ColourBands>(codecs::open_jpeg(file, info, {region}), bands);
  const Region part = codecs::region_of(region, info);
  return std::make_unique<StoredBands>(codecs::open_pixels(file, info, part), part, bands);
}

std::vector<int> all_bands(const BandLayout& layout) {
  std::vector<int> numbers(static_cast<std::size_t>(layout.bands));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace packhorse
