#include "decode/other_images.h"

#include "packhorse/image/decoded_image.h"

namespace packhorse::reader {

namespace {

/// Expands `pixels` grey bytes at `row` to three equal channels, in place.
void repeat_grey(std::uint8_t* row, int pixels) {
  for (int i = pixels; i-- > 0;) {
    const std::uint8_t grey = row[i];
    for (int channel = 0; channel < kChannels; ++channel) row[kChannels * i + channel] = grey;
  }
}

}  // namespace

PixelView decode_other(Bytes file, const ImageInfo& info, const Window& window,
                       PixelBuffer& buffer) {
  const std::unique_ptr<DecodedImage> image = decode_image(file, info);
  const std::size_t stride = static_cast<std::size_t>(window.w) * kChannels;
  std::uint8_t* rgb = buffer.reserve(stride * static_cast<std::size_t>(window.h));
  for (int y = 0; y < window.h; ++y) {
    std::uint8_t* row = rgb + static_cast<std::size_t>(y) * stride;
    image->read(window.x, window.y + y, window.w, row);
    if (image->channels == 1) repeat_grey(row, window.w);
  }
  return {rgb, window.w, window.h, stride};
}

}  // namespace packhorse::reader
