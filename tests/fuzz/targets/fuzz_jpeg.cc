// Our JPEG decoder: windows at any scale, row by row and whole, and coefficients, in order and by
// restart segments.
#include <algorithm>
#include <vector>

#include "base/hash.h"
#include "jpeg/decode/coefficients.h"
#include "support/fuzz.h"

namespace {

using namespace packhorse;

/// Mostly few pixels: a window's errors are in its first rows, and each row takes time.
std::uint32_t most_pixels(std::uint64_t random) { return random >> 32 & 15 ? 1 << 12 : 1 << 16; }

class Rows : public jpeg::RowSink {
 public:
  explicit Rows(std::uint32_t width) : width_(width) {}
  void take(const std::uint8_t* rows, std::size_t stride, std::uint32_t count) override {
    const std::size_t last = stride * (count - 1) + std::size_t{3} * width_;
    fuzz::touch(std::as_bytes(std::span(rows, last + kSlack)));
  }

 private:
  std::uint32_t width_;
};

class Blocks : public jpeg::CoefficientSink {
 public:
  void take_mcu_row(const std::int16_t* blocks) override { sum_ = sum_ + *blocks; }

 private:
  volatile int sum_ = 0;
};

/// Draws a window from the input. It has few pixels, whatever the picture has.
jpeg::Window draw_window(std::uint32_t width, std::uint32_t height, std::uint64_t random) {
  const auto draw = [&](std::uint32_t below) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>((random >> 33) % below);
  };
  const std::uint32_t most = most_pixels(random);
  jpeg::Window window;
  window.x = draw(4) == 0 ? 0 : draw(width);
  window.y = draw(4) == 0 ? 0 : draw(height);
  window.width = draw(4) == 0 ? width - window.x : 1 + draw(width - window.x);
  window.height = draw(4) == 0 ? height - window.y : 1 + draw(height - window.y);
  window.width = std::min(window.width, most);
  window.height = std::min(window.height, most / window.width);
  return window;
}

void look_at(Bytes file) {
  static jpeg::Scratch scratch;
  const std::uint64_t random = xxh3(file);
  // Kept memory has room from larger pictures, in which errors of small ones could go unnoticed.
  if (random % 64 == 0) scratch = jpeg::Scratch();
  std::uint8_t pixel[3];
  const jpeg::Result header = jpeg::decode(file, {0, 0, 1, 1}, {pixel, 3}, scratch);
  if (header.width == 0 || header.height == 0) return;
  const std::uint32_t scale = 1u << (random >> 8 & 3);
  const jpeg::Window window =
      draw_window((header.width + scale - 1) / scale, (header.height + scale - 1) / scale, random);
  std::vector<std::uint8_t> pixels(std::size_t{3} * window.width * window.height);
  const bool done = jpeg::decode(file, window, {pixels, std::size_t{3} * window.width}, scratch,
                                 static_cast<jpeg::Scale>(scale))
                        .done();
  fuzz::touch(std::as_bytes(std::span(pixels)));
  Rows rows(window.width);
  fuzz::promise(
      jpeg::decode(file, window, rows, scratch, static_cast<jpeg::Scale>(scale)).done() == done,
      "the same verdict whichever way the rows go");
  if (std::uint64_t{header.width} * header.height > std::uint64_t{1} << 20) return;
  Blocks blocks;
  static_cast<void>(jpeg::decode_coefficients(file, blocks, scratch));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::attempt(data, size, look_at);
}
