#include "decode/raw.h"

#include <cstring>
#include <string>

#include "packhorse/base/error.h"
#include "packhorse/image/npy.h"

namespace packhorse::reader {

PixelView raw_window(Bytes pixels, const ImageInfo& info, const Window& window,
                     PixelBuffer& buffer) {
  if (pixels.size() != pixel_bytes(info)) {
    throw Error(ErrorKind::kCorrupt, "its pixels are not as many as its size says");
  }
  const std::size_t channels = info.components;
  if (channels != 1 && channels != kChannels) {
    throw Error(ErrorKind::kUnsupported, "it has " + std::to_string(channels) + " channels");
  }
  const std::size_t row = info.width * channels;
  const std::size_t begin =
      static_cast<std::size_t>(window.y) * row + static_cast<std::size_t>(window.x) * channels;
  const std::size_t end = begin + static_cast<std::size_t>(window.h - 1) * row +
                          static_cast<std::size_t>(window.w) * channels;
  if (channels == kChannels && end + PixelBuffer::kSlack <= pixels.size()) {
    return {reinterpret_cast<const std::uint8_t*>(pixels.data()) + begin, window.w, window.h, row};
  }
  const auto columns = static_cast<std::size_t>(window.w);
  const std::size_t stride = columns * kChannels;
  std::uint8_t* out = buffer.reserve(stride * static_cast<std::size_t>(window.h));
  for (int y = 0; y < window.h; ++y) {
    const std::byte* from = pixels.data() + begin + static_cast<std::size_t>(y) * row;
    std::uint8_t* to = out + static_cast<std::size_t>(y) * stride;
    if (channels == kChannels) {
      std::memcpy(to, from, stride);
    } else {
      for (std::size_t i = 0; i < columns; ++i)
        std::memset(to + i * kChannels, std::to_integer<int>(from[i]), kChannels);
    }
  }
  return {out, window.w, window.h, stride};
}

}  // namespace packhorse::reader
