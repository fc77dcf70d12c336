#include "raw.h"

#include <cstring>
#include <string>

#include "packhorse/error.h"
#include "packhorse/npy.h"

namespace packhorse::reader {

PixelView copy_raw(Bytes pixels, const ImageInfo& info, const Window& window, PixelBuffer& buffer) {
  if (pixels.size() != pixel_bytes(info)) {
    throw Error(ErrorKind::kCorrupt, "its pixels are not as many as its size says");
  }
  const std::size_t channels = info.components;
  if (channels != 1 && channels != kChannels) {
    throw Error(ErrorKind::kUnsupported, "it has " + std::to_string(channels) + " channels");
  }
  const auto columns = static_cast<std::size_t>(window.w);
  const std::size_t stride = columns * kChannels;
  std::uint8_t* out = buffer.reserve(stride * static_cast<std::size_t>(window.h));
  for (int row = 0; row < window.h; ++row) {
    const std::size_t first =
        static_cast<std::size_t>(window.y + row) * info.width + static_cast<std::size_t>(window.x);
    const std::byte* from = pixels.data() + first * channels;
    std::uint8_t* to = out + static_cast<std::size_t>(row) * stride;
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
