#include "pnm.h"

#include <algorithm>
#include <string_view>

namespace packhorse::reader {

namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// The number at or after `at`, past white space and comments.
unsigned read_number(std::string_view text, std::size_t& at) {
  while (is_space(text[at]) || text[at] == '#') {
    if (text[at] == '#') at = text.find('\n', at);
    ++at;
  }
  unsigned value = 0;
  for (; text[at] >= '0' && text[at] <= '9'; ++at)
    value = value * 10 + static_cast<unsigned>(text[at] - '0');
  return value;
}

}  // namespace

PixelView decode_pnm(Bytes file, const ImageInfo& info, const Window& window, PixelBuffer& buffer) {
  const std::string_view text = as_text(file);
  std::size_t at = 2;
  read_number(text, at);  // width
  read_number(text, at);  // height
  const unsigned maximum = read_number(text, at);
  const std::size_t depth = maximum > 255 ? 2 : 1;
  const std::size_t components = info.components;
  const std::byte* pixels = file.data() + at + 1;

  std::uint8_t* out = buffer.reserve(static_cast<std::size_t>(window.w) *
                                     static_cast<std::size_t>(window.h) * kChannels);
  const auto value = [&](std::size_t i) {
    unsigned v = std::to_integer<unsigned>(pixels[i * depth]);
    if (depth == 2) v = v << 8 | std::to_integer<unsigned>(pixels[i * depth + 1]);
    return static_cast<std::uint8_t>((std::min(v, maximum) * 255 + maximum / 2) / maximum);
  };
  std::uint8_t* next = out;
  for (int row = 0; row < window.h; ++row) {
    std::size_t i = (static_cast<std::size_t>(window.y + row) * info.width +
                     static_cast<std::size_t>(window.x)) *
                    components;
    for (int column = 0; column < window.w; ++column, i += components) {
      for (std::size_t channel = 0; channel < kChannels; ++channel) {
        *next++ = value(components == 1 ? i : i + channel);
      }
    }
  }
  return {out, window.w, window.h, static_cast<std::size_t>(window.w) * kChannels};
}

}  // namespace packhorse::reader
