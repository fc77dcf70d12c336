#include "codecs/colour_rows.h"

#include <cstring>
#include <limits>
#include <vector>

#include "base/stop.h"
#include "codecs/codec.h"

namespace packhorse {

namespace {

std::size_t colours_of(ColourModel model) {
  return model == ColourModel::kGrey ? 1 : model == ColourModel::kRgb ? 3 : 4;
}

/// The nearest of 8 bits to one of 16.
std::uint8_t narrowed(std::uint16_t sample) {
  return static_cast<std::uint8_t>((sample + 128u) / 257u);
}

/// The rows of a codec, made colours.
class CodecRows final : public ColourRows {
 public:
  CodecRows(codecs::OpenedPixels opened, const Region& region)
      : rows_(std::move(opened.rows)), layout_(opened.layout) {
    const PixelLayout& layout = layout_;
    width = region.width;
    height = region.height;
    colours_ = colours_of(layout.model);
    channels = colours_ == 1 ? 1 : 3;
    as_they_are_ = layout.bits == 8 && layout.channels == colours_ && colours_ != 4;
    if (!as_they_are_) row_.resize(static_cast<std::size_t>(width) * colours_);
    if (layout.bits == 16) note = "16 bit scaled to 8";
    if (layout.channels > colours_) note = "bands beyond the colours left out";
    if (layout.alpha != Alpha::kNone) note = "alpha flattened onto black";
    if (layout.model == ColourModel::kCmyk) note = "CMYK converted to RGB";
  }

  const std::uint8_t* next_row() override {
    obey_stop();
    const std::byte* in = rows_->next();
    if (as_they_are_) return reinterpret_cast<const std::uint8_t*>(in);
    layout_.bits == 16 ? convert<std::uint16_t>(in) : convert<std::uint8_t>(in);
    if (layout_.model == ColourModel::kCmyk) cmyk_to_rgb(row_.data(), row_.data(), width);
    return row_.data();
  }

 private:
  /// Takes the colours of each pixel, times its alpha.
  template <class Sample>
  void convert(const std::byte* in) {
    constexpr std::uint64_t kFull = std::numeric_limits<Sample>::max();
    const std::size_t pixel = layout_.pixel_bytes();
    const bool alpha = layout_.alpha != Alpha::kNone;
    const bool flatten = layout_.alpha == Alpha::kStraight;
    std::uint8_t* out = row_.data();
    for (int i = 0; i < width; ++i, in += pixel) {
      Sample samples[5];
      std::memcpy(samples, in, (colours_ + (alpha ? 1 : 0)) * sizeof(Sample));
      if (alpha && samples[colours_] != kFull) transparent = true;
      for (std::size_t c = 0; c < colours_; ++c) {
        Sample value = samples[c];
        if (flatten)
          value =
              static_cast<Sample>((value * std::uint64_t{samples[colours_]} + kFull / 2) / kFull);
        if constexpr (sizeof(Sample) == 2) {
          *out++ = narrowed(value);
        } else {
          *out++ = value;
        }
      }
    }
  }

  std::unique_ptr<codecs::PixelRows> rows_;
  PixelLayout layout_;
  std::size_t colours_ = 3;
  bool as_they_are_ = false;
  std::vector<std::uint8_t> row_;
};

}  // namespace

int decode_eighths(const ImageInfo& info, int least_width, int least_height) {
  if (info.kind != ImageKind::kJpeg) return 8;
  for (const unsigned eighths : {1u, 2u, 4u}) {
    if (info.width * eighths / 8 >= static_cast<unsigned>(least_width) &&
        info.height * eighths / 8 >= static_cast<unsigned>(least_height)) {
      return static_cast<int>(eighths);
    }
  }
  return 8;
}

std::unique_ptr<ColourRows> open_colours(Bytes file, const ImageInfo& info,
                                         const ColourRequest& request) {
  if (info.kind == ImageKind::kJpeg) return codecs::open_jpeg(file, info, request);
  const Region region = codecs::region_of(request.region, info);
  codecs::OpenedPixels opened = codecs::open_pixels(file, info, region);
  if (const std::string why = why_no_colours(opened.layout); !why.empty())
    throw Error(ErrorKind::kUnsupported,
                "unsupported: " + codecs::title_of(info.kind) + " of " + why);
  return std::make_unique<CodecRows>(std::move(opened), region);
}

void cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, int pixels) {
  for (int i = 0; i < pixels; ++i, cmyk += 4) {
    const unsigned k = cmyk[3];
    for (int channel = 0; channel < 3; ++channel) {
      const unsigned product = cmyk[channel] * k + 128;
      *rgb++ = static_cast<std::uint8_t>((product + (product >> 8)) >> 8);  // / 255, rounded
    }
  }
}

}  // namespace packhorse
