#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <new>
#include <vector>

#include "codecs/codec.h"

namespace packhorse::codecs {

namespace {

const std::uint8_t* data_of(Bytes file) {
  return reinterpret_cast<const std::uint8_t*>(file.data());
}

[[noreturn]] void refuse(VP8StatusCode code) {
  if (code == VP8_STATUS_OUT_OF_MEMORY) throw std::bad_alloc();
  damaged("webp", code == VP8_STATUS_NOT_ENOUGH_DATA ? "it ends too early"
                                                     : "its picture cannot be decoded");
}

/// libwebp decodes a part of a picture like the whole, except next to the part's edges, where
/// chroma is interpolated: so it is given more than is asked for. Only even positions change
/// nothing.
constexpr int kMargin = 4;

class WebpRows final : public DecodedRows {
 public:
  WebpRows(Bytes file, const ProbeResult& header, const Region& region) {
    const int width = static_cast<int>(header.info->width);
    const int height = static_cast<int>(header.info->height);
    const int left = std::max(region.x - kMargin, 0) & ~1;
    const int top = std::max(region.y - kMargin, 0) & ~1;
    const int right = std::min(region.x + region.width + kMargin, width);
    const int bottom = std::min(region.y + region.height + kMargin, height);
    WebPDecoderConfig config;
    if (WebPInitDecoderConfig(&config) == 0)
      throw Error(ErrorKind::kUnsupported, "another libwebp");
    if (const auto code = WebPGetFeatures(data_of(file), file.size(), &config.input);
        code != VP8_STATUS_OK)
      refuse(code);
    if (config.input.width != width || config.input.height != height)
      damaged("webp", "two headers of different sizes");
    const bool whole = left == 0 && top == 0 && right == width && bottom == height;
    config.options.use_cropping = whole ? 0 : 1;
    config.options.crop_left = left;
    config.options.crop_top = top;
    config.options.crop_width = right - left;
    config.options.crop_height = bottom - top;
    const std::size_t pixel = header.layout.channels;
    const std::size_t stride = static_cast<std::size_t>(right - left) * pixel;
    pixels_.resize(stride * static_cast<std::size_t>(bottom - top));
    config.output.colorspace = pixel == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = {pixels_.data(), static_cast<int>(stride), pixels_.size()};
    if (const auto code = WebPDecode(data_of(file), file.size(), &config); code != VP8_STATUS_OK)
      refuse(code);
    start(reinterpret_cast<const std::byte*>(pixels_.data()) +
              static_cast<std::size_t>(region.y - top) * stride +
              static_cast<std::size_t>(region.x - left) * pixel,
          stride);
  }

 private:
  std::vector<std::uint8_t> pixels_;
};

struct DeleteAnimation {
  void operator()(WebPAnimDecoder* decoder) const { WebPAnimDecoderDelete(decoder); }
};

/// The first frame of an animation, on its canvas.
class FirstFrame final : public DecodedRows {
 public:
  FirstFrame(Bytes file, const ProbeResult& header, const Region& region) {
    WebPAnimDecoderOptions options;
    if (WebPAnimDecoderOptionsInit(&options) == 0)
      throw Error(ErrorKind::kUnsupported, "another libwebp");
    options.color_mode = MODE_RGBA;
    const WebPData data{data_of(file), file.size()};
    decoder_.reset(WebPAnimDecoderNew(&data, &options));
    WebPAnimInfo info{};
    std::uint8_t* canvas = nullptr;
    int time = 0;
    if (!decoder_ || WebPAnimDecoderGetInfo(decoder_.get(), &info) == 0 ||
        info.canvas_width != header.info->width || info.canvas_height != header.info->height ||
        WebPAnimDecoderGetNext(decoder_.get(), &canvas, &time) == 0)
      damaged("webp", "its first frame cannot be decoded");
    const std::size_t pixel = header.layout.channels;
    const std::size_t width = header.info->width, pixels = width * header.info->height;
    pixels_.resize(pixels * pixel);
    for (std::size_t i = 0; i < pixels; ++i)
      std::copy_n(canvas + 4 * i, pixel, pixels_.data() + pixel * i);
    start(reinterpret_cast<const std::byte*>(pixels_.data()) +
              (static_cast<std::size_t>(region.y) * width + static_cast<std::size_t>(region.x)) *
                  pixel,
          width * pixel);
  }

 private:
  std::unique_ptr<WebPAnimDecoder, DeleteAnimation> decoder_;
  std::vector<std::uint8_t> pixels_;
};

}  // namespace

std::unique_ptr<PixelRows> open_webp(Bytes file, const ProbeResult& header, const Region& region) {
  WebPBitstreamFeatures features;
  if (const auto code = WebPGetFeatures(data_of(file), file.size(), &features);
      code != VP8_STATUS_OK)
    refuse(code);
  if (features.has_animation != 0) return std::make_unique<FirstFrame>(file, header, region);
  return std::make_unique<WebpRows>(file, header, region);
}

}  // namespace packhorse::codecs
