#include "pixels/warp_kernels.h"

#include <doctest/doctest.h>

#include <vector>

#include "packhorse/reader/sample_random.h"
#include "pixels/pixels.h"
#include "support/instruction_sets.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

using packhorse::test::for_each_instruction_set;

TEST_CASE("warp kernels: lines are the plain ones' in any direction and of any length") {
  constexpr int kWidth = 40, kHeight = 30, kMost = 16;
  constexpr std::int32_t kOne = 1 << kFixedBits;
  const Picture picture = make_picture(kWidth, kHeight, 3, 5);
  std::vector<std::uint8_t> pixels = picture.pixels;
  pixels.resize(pixels.size() + PixelBuffer::kSlack);
  SampleRandom random(3, 1, 4);
  const auto draw = [&](double low, double high) {
    return static_cast<std::int32_t>(random.uniform(low, high) * kOne);
  };
  for (int i = 0; i < 2000; ++i) {
    const int count = 1 + static_cast<int>(random.integer(kMost));
    // From one place to another, both with four neighbours.
    const std::int32_t x = draw(0, kWidth - 1.001), y = draw(0, kHeight - 1.001);
    const std::int32_t to_x = draw(0, kWidth - 1.001), to_y = draw(0, kHeight - 1.001);
    const WarpLine line{pixels.data(), kWidth * 3, x, y, (to_x - x) / count, (to_y - y) / count};
    const std::vector<std::uint8_t> untouched(static_cast<std::size_t>(count) * 3 + 4, 7);
    std::vector<std::uint8_t> plain = untouched;
    sample_line_plainly(line, count, plain.data());
    CHECK(plain[plain.size() - 4] == 7);  // nothing is written beyond
    for_each_instruction_set([&] {
      std::vector<std::uint8_t> vectors = untouched;
      fastest_sample_line()(line, count, vectors.data());
      CHECK(vectors == plain);
    });
  }
}

TEST_CASE("warp kernels: bicubic lines are the plain ones', in any direction and of any length") {
  constexpr std::int64_t kWidth = 40, kHeight = 30, kMost = 30;
  constexpr std::int64_t kOne = std::int64_t{1} << kPositionBits;
  const Picture picture = make_picture(kWidth, kHeight, 3, 5);
  std::vector<std::uint8_t> pixels = picture.pixels;
  for (std::size_t i = 0; i < 900; ++i) pixels[i] = i % 7 < 3 ? 255 : 0;  // beyond black and white
  pixels.resize(pixels.size() + PixelBuffer::kSlack);
  SampleRandom random(3, 1, 4);
  std::vector<CubicWeights> weights;
  for (int i = 0; i <= kCubicPhases; ++i) {
    const auto outer = static_cast<std::int16_t>(-random.integer(600));
    const auto inner = static_cast<std::int16_t>(random.integer(4000));
    weights.push_back({outer, inner, static_cast<std::int16_t>(4096 - inner - 2 * outer), outer});
  }
  const auto draw = [&](std::int64_t side) {
    return static_cast<std::int64_t>(random.uniform(0, static_cast<double>(side) - 3.001) *
                                     static_cast<double>(kOne));
  };
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t count = 1 + random.integer(kMost);
    const std::int64_t x = draw(kWidth), y = draw(kHeight), to_x = draw(kWidth),
                       to_y = draw(kHeight);
    const CubicLine line{pixels.data(),      kWidth * 3,    x, y, (to_x - x) / count,
                         (to_y - y) / count, weights.data()};
    const std::vector<std::uint8_t> untouched(static_cast<std::size_t>(count) * 3 + 4, 7);
    std::vector<std::uint8_t> plain = untouched;
    sample_cubic_plainly(line, count, plain.data());
    CHECK(plain[plain.size() - 4] == 7);  // nothing is written beyond
    for_each_instruction_set([&] {
      std::vector<std::uint8_t> vectors = untouched;
      fastest_sample_cubic()(line, count, vectors.data());
      CHECK(vectors == plain);
    });
  }
}

TEST_CASE("warp kernels: at a pixel's centre there is its colour, between two their mean") {
  const std::vector<std::uint8_t> pixels = [] {
    std::vector<std::uint8_t> made = {10, 20, 30, 50, 60, 70, 90, 100, 110, 130, 140, 150};
    made.resize(made.size() + PixelBuffer::kSlack);
    return made;
  }();
  std::vector<std::uint8_t> out(6);
  sample_line_plainly({pixels.data(), 6, 0, 0, 1 << (kFixedBits - 1), 0}, 2, out.data());
  CHECK(out == std::vector<std::uint8_t>{10, 20, 30, 30, 40, 50});
}

}  // namespace packhorse::reader::test
