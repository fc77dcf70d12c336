#include "decode/colours.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "codecs/band_rows.h"
#include "image/npy.h"
#include "packhorse/base/error.h"

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

namespace {

std::string bits_of(int bits) {
  return bits == 32 ? "floating-point numbers" : std::to_string(bits) + " bits";
}

void check(const BandLayout& layout, const BandChoice& choice) {
  if (choice.of != 0 && layout.bands != choice.of)
    throw Error(ErrorKind::kUnsupported, "it has " + std::to_string(layout.bands) +
                                             " bands, and other images " +
                                             std::to_string(choice.of));
  const bool as_wanted = choice.bits == 0 ? !layout.is_float() : layout.bits == choice.bits;
  if (!as_wanted)
    throw Error(ErrorKind::kUnsupported,
                "its samples are of " + bits_of(layout.bits) + ", and those of other images of " +
                    (choice.bits == 0 ? "8 or 16 bits" : bits_of(choice.bits)));
}

}  // namespace

void decode_bands(Bytes file, const ImageInfo& info, const Window& window, const BandChoice& choice,
                  PixelBuffer& buffer, PixelSink& sink) {
  const auto rows =
      open_bands(file, info, {window.x, window.y, window.w, window.h}, choice.numbers);
  check(rows->layout, choice);
  const std::size_t stride =
      static_cast<std::size_t>(window.w) * choice.numbers.size() * sizeof(float);
  std::uint8_t* out = buffer.reserve(stride * kRowsTogether);
  sink.start();
  for (int y = 0; y < window.h; y += kRowsTogether) {
    const int count = std::min(kRowsTogether, window.h - y);
    for (int i = 0; i < count; ++i)
      rows->next_row(reinterpret_cast<float*>(out + static_cast<std::size_t>(i) * stride));
    sink.take({out, window.w, count, stride});
  }
}

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
