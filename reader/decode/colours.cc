#include "decode/colours.h"

#include <algorithm>
#include <cstring>

namespace packhorse::reader {

void decode_colours(Bytes file, const ImageInfo& info, const Window& window, PixelBuffer& buffer,
                    PixelSink& sink, int eighths) {
  const auto rows = open_colours(file, info, {{window.x, window.y, window.w, window.h}, eighths});
  const auto columns = static_cast<std::size_t>(window.w);
  const std::size_t stride = columns * kChannels;
  std::uint8_t* rgb = buffer.reserve(stride * kRowsTogether);
  sink.start();
  for (int y = 0; y < window.h; y += kRowsTogether) {
    const int count = std::min(kRowsTogether, window.h - y);
    for (int i = 0; i < count; ++i) {
      const std::uint8_t* from = rows->next_row();
      std::uint8_t* to = rgb + static_cast<std::size_t>(i) * stride;
      if (rows->channels == kChannels) {
        std::memcpy(to, from, stride);
      } else {
        for (std::size_t x = 0; x < columns; ++x)
          std::memset(to + kChannels * x, from[x], kChannels);
      }
    }
    sink.take({rgb, window.w, count, stride});
  }
}

}  // namespace packhorse::reader
