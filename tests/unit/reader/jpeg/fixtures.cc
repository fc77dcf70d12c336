#include "fixtures.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "packhorse/image_info.h"
#include "packhorse/transform.h"

namespace packhorse::jpeg::test {

using packhorse::test::Picture;

std::optional<Picture> decoded(Bytes file, const Window& window, Scratch& scratch, Reason* reason) {
  constexpr std::uint8_t kGuard = 0xa5;
  const std::size_t row = std::size_t{3} * window.width, stride = row + 7;
  std::vector<std::uint8_t> memory(stride * window.height, kGuard);
  const File copy(file.begin(), file.end());  // a sanitizer sees where it ends
  const std::span<std::uint8_t> pixels(memory.data(), memory.size() - 7);
  const Result result = decode(copy, window, {pixels, stride}, scratch);
  if (reason != nullptr) *reason = result.reason;
  Picture picture{static_cast<int>(window.width), static_cast<int>(window.height), {}};
  for (std::size_t y = 0; y < window.height; ++y) {
    const auto begin = memory.begin() + static_cast<std::ptrdiff_t>(y * stride);
    const auto end = begin + static_cast<std::ptrdiff_t>(row);
    picture.pixels.insert(picture.pixels.end(), begin, end);
    REQUIRE(std::all_of(end, begin + static_cast<std::ptrdiff_t>(stride),
                        [](std::uint8_t b) { return b == kGuard; }));
  }
  if (!result.done()) return std::nullopt;
  return picture;
}

Window whole(const Picture& picture) {
  return {0, 0, static_cast<std::uint32_t>(picture.width),
          static_cast<std::uint32_t>(picture.height)};
}

Picture window_of(const Picture& picture, const Window& window) {
  Picture out{static_cast<int>(window.width), static_cast<int>(window.height), {}};
  for (std::uint32_t y = 0; y < window.height; ++y) {
    const std::uint8_t* row =
        picture.at(static_cast<int>(window.x), static_cast<int>(window.y + y));
    out.pixels.insert(out.pixels.end(), row, row + std::size_t{3} * window.width);
  }
  return out;
}

Window draw_window(std::mt19937& random, std::uint32_t width, std::uint32_t height) {
  const auto draw = [&](std::uint32_t size, std::uint32_t& from, std::uint32_t& length) {
    length =
        1 + static_cast<std::uint32_t>(random()) % (random() % 3 == 0 ? std::min(size, 9u) : size);
    from = static_cast<std::uint32_t>(random()) % (size - length + 1);
  };
  Window window;
  draw(width, window.x, window.width);
  draw(height, window.y, window.height);
  return window;
}

File made_roi(Bytes file, int restart_mcus) {
  TransformOptions options;
  options.restart_mcus = restart_mcus;
  ImageInfo info = probe_image(file).info.value();
  std::vector<std::byte> output;
  const Transformed made = find_transform("roi").make(options)->apply(file, info, output);
  return {made.bytes.begin(), made.bytes.end()};
}

}  // namespace packhorse::jpeg::test
