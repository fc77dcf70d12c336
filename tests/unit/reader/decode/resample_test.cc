#include "decode/resample.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "support/instruction_sets.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace {

/// Rows of a window given at a time.
constexpr int kAll = 1 << 20;

/// Applies `plan` to the stored `picture`; the resampler gets only the window it asks for.
Picture placed(const Picture& picture, const CropPlan& plan, int size, int orientation = 1,
               const ResizeKernels& kernels = fastest_kernels(), int rows = kAll) {
  Resampler resampler({}, kernels);
  const Window window =
      resampler.prepare(plan, Turn(orientation), size, picture.width, picture.height);
  REQUIRE(window.x >= 0);
  REQUIRE(window.y >= 0);
  REQUIRE(window.x + window.w <= picture.width);
  REQUIRE(window.y + window.h <= picture.height);
  Picture out{size, size, std::vector<std::uint8_t>(static_cast<std::size_t>(size * size * 3), 77)};
  resampler.write_to(out.pixels.data(), static_cast<std::size_t>(out.width) * 3);
  for (int y = 0; y < window.h; y += rows) {
    const int count = std::min(rows, window.h - y);
    const Picture part = window_of(picture, window.x, window.y + y, window.w, count);
    PixelBuffer buffer;
    std::uint8_t* pixels = buffer.reserve(part.pixels.size());
    std::copy(part.pixels.begin(), part.pixels.end(), pixels);
    resampler.take({pixels, window.w, count, static_cast<std::size_t>(window.w) * 3});
  }
  return out;
}

/// Antialiased bilinear along x by its definition, in floating point, rounded to 8 bits like
/// Pillow's.
Picture scaled_along_x(const Picture& picture, int width) {
  Picture out{width, picture.height, {}};
  const double scale = static_cast<double>(picture.width) / width, support = std::max(scale, 1.0);
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double centre = (x + 0.5) * scale;
      double sums[3] = {}, total = 0;
      for (int from = 0; from < picture.width; ++from) {
        const double weight = std::max(0.0, 1 - std::abs(from + 0.5 - centre) / support);
        for (int c = 0; c < 3; ++c) sums[c] += weight * picture.at(from, y)[c];
        total += weight;
      }
      for (double sum : sums) out.pixels.push_back(static_cast<std::uint8_t>(sum / total + 0.5));
    }
  }
  return out;
}

Picture transposed(const Picture& picture) {
  Picture out{picture.height, picture.width, {}};
  for (int x = 0; x < picture.width; ++x) {
    for (int y = 0; y < picture.height; ++y) {
      out.pixels.insert(out.pixels.end(), picture.at(x, y), picture.at(x, y) + 3);
    }
  }
  return out;
}

Picture scaled(const Picture& picture, int width, int height) {
  return transposed(scaled_along_x(transposed(scaled_along_x(picture, width)), height));
}

/// `piece` of the plan cut out of the whole scaled picture.
Picture cut(const Picture& whole, const CropPlan& plan, int size) {
  Picture out{size, size, std::vector<std::uint8_t>(static_cast<std::size_t>(size * size * 3))};
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      const int from_x = plan.left + (plan.flip ? size - 1 - x : x), from_y = plan.top + y;
      if (from_x < 0 || from_y < 0 || from_x >= whole.width || from_y >= whole.height) continue;
      std::memcpy(out.at(x, y), whole.at(from_x, from_y), 3);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("resample: shrinking and enlarging are antialiased bilinear by its definition") {
  for (int width : {1, 3, 20, 33, 64, 150}) {
    for (int height : {1, 2, 25, 47, 130}) {
      CAPTURE(width);
      CAPTURE(height);
      const Picture picture = make_picture(width, height);
      const CropPlan plan{.w = width, .h = height, .scaled_w = 33, .scaled_h = 33};
      CHECK(largest_difference(placed(picture, plan, 33), scaled(picture, 33, 33)) <= 1);
    }
  }
}

TEST_CASE("resample: each instruction set makes the pixels that plain C++ makes") {
  packhorse::test::for_each_instruction_set([] {
    for (int side : {1, 2, 3, 5, 6, 40, 97, 300}) {
      for (int size : {1, 4, 5, 6, 10, 11, 33, 64}) {
        const Picture picture = make_picture(side, side);
        const CropPlan plan{.w = side, .h = side, .scaled_w = size, .scaled_h = size};
        CHECK((placed(picture, plan, size) == placed(picture, plan, size, 1, plain_kernels())));
      }
    }
  });
}

TEST_CASE("resample: one colour stays that colour at any scale") {
  for (int side : {1, 7, 50, 2000}) {
    Picture picture{side, side,
                    std::vector<std::uint8_t>(static_cast<std::size_t>(side * side * 3), 255)};
    const CropPlan plan{.w = side, .h = side, .scaled_w = 32, .scaled_h = 32};
    CHECK(placed(picture, plan, 32).pixels == std::vector<std::uint8_t>(32 * 32 * 3, 255));
  }
}

TEST_CASE("resample: nothing changes when the sizes agree") {
  const Picture picture = make_picture(20, 20);
  CHECK(placed(picture, {.w = 20, .h = 20, .scaled_w = 20, .scaled_h = 20}, 20) == picture);
}

TEST_CASE("resample: a window is scaled as if there were nothing around it") {
  const Picture picture = make_picture(80, 70);
  const CropPlan plan{.x = 13, .y = 22, .w = 37, .h = 41, .scaled_w = 24, .scaled_h = 24};
  const Picture expected = scaled(window_of(picture, 13, 22, 37, 41), 24, 24);
  CHECK(largest_difference(placed(picture, plan, 24), expected) <= 1);
}

TEST_CASE("resample: flipping mirrors left and right") {
  const Picture picture = make_picture(51, 43);
  CropPlan plan{.w = 51, .h = 43, .scaled_w = 21, .scaled_h = 21};
  const Picture straight = placed(picture, plan, 21);
  plan.flip = true;
  const Picture flipped = placed(picture, plan, 21);
  for (int y = 0; y < 21; ++y) {
    for (int x = 0; x < 21; ++x) REQUIRE(flipped.at(x, y)[1] == straight.at(20 - x, y)[1]);
  }
}

TEST_CASE("resample: the piece is cut where the plan says, black outside") {
  const Picture picture = make_picture(45, 60);
  for (bool flip : {false, true}) {
    for (int left : {-30, -3, 0, 5, 25}) {
      for (int top : {-24, -1, 7, 39}) {
        CropPlan plan{.w = 45,
                      .h = 60,
                      .scaled_w = 30,
                      .scaled_h = 40,
                      .left = left,
                      .top = top,
                      .flip = flip};
        CHECK(largest_difference(placed(picture, plan, 24),
                                 cut(scaled(picture, 30, 40), plan, 24)) <= 1);
      }
    }
  }
}

TEST_CASE("resample: all orientations are turned upright") {
  const Picture stored = make_picture(50, 36);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    CAPTURE(orientation);
    Picture upright = stored;
    if (orientation >= 5) std::swap(upright.width, upright.height);
    UprightWriter writer(Turn(orientation), stored.width, stored.height, upright.pixels.data());
    writer.start();
    writer.take({stored.pixels.data(), stored.width, stored.height,
                 static_cast<std::size_t>(stored.width) * 3});
    const CropPlan plan{.x = 3,
                        .y = 5,
                        .w = 28,
                        .h = 30,
                        .scaled_w = 20,
                        .scaled_h = 26,
                        .left = 1,
                        .top = -2,
                        .flip = true};
    CHECK(largest_difference(placed(stored, plan, 22, orientation), placed(upright, plan, 22)) <=
          1);
  }
}

TEST_CASE("resample: however many rows come at a time, the pixels are the same") {
  const Picture picture = make_picture(150, 190);
  for (int orientation : {1, 2, 4, 5, 6, 7}) {
    for (int scaled : {7, 30, 150, 400}) {
      for (const auto& [top, flip] : {std::pair{0, false}, {-9, true}, {scaled / 2, true}}) {
        const CropPlan plan{.x = 11,
                            .y = 7,
                            .w = 131,
                            .h = 133,
                            .scaled_w = scaled,
                            .scaled_h = scaled,
                            .left = top,
                            .top = top,
                            .flip = flip};
        const Picture whole = placed(picture, plan, 31, orientation);
        for (int rows : {1, 3, 8, 16, 50}) {
          CAPTURE(orientation);
          CAPTURE(scaled);
          CAPTURE(top);
          CAPTURE(rows);
          CHECK((placed(picture, plan, 31, orientation, fastest_kernels(), rows) == whole));
        }
      }
    }
  }
}

TEST_CASE("resample: rows that came before a new start do not count") {
  const Picture picture = make_picture(60, 90), other = make_picture(60, 90, 3, 1);
  const CropPlan plan{.w = 60, .h = 90, .scaled_w = 30, .scaled_h = 30};
  Resampler resampler;
  resampler.prepare(plan, Turn(1), 30, 60, 90);
  Picture out{30, 30, std::vector<std::uint8_t>(30 * 30 * 3)};
  resampler.write_to(out.pixels.data(), static_cast<std::size_t>(out.width) * 3);
  const auto take = [&](const Picture& from, int rows) {
    resampler.start();
    resampler.take({from.pixels.data(), 60, rows, 180});
  };
  take(other, 70);
  Picture padded = picture;
  padded.pixels.resize(padded.pixels.size() + PixelBuffer::kSlack);
  take(padded, 90);
  CHECK((out == placed(picture, plan, 30)));
}

TEST_CASE("resample: only the pixels that show are asked for") {
  Resampler resampler;
  const CropPlan plan = plan_crop(ResizeCenterCrop{}, 3000, 200, SampleRandom(0, 0, 0));
  const Window window = resampler.prepare(plan, Turn(1), 224, 3000, 200);
  CHECK(window.w <= 224 * 200 / 256 + 4);
  CHECK(std::abs(window.x + window.w / 2 - 1500) <= 1);
  CHECK(window.h <= 224 * 200 / 256 + 4);
}

TEST_CASE("resample: a piece entirely outside needs no pixels") {
  Resampler resampler;
  const CropPlan plan{.w = 8, .h = 8, .scaled_w = 8, .scaled_h = 8, .left = 9};
  CHECK(resampler.prepare(plan, Turn(1), 8, 8, 8).w == 0);
}

}  // namespace packhorse::reader::test
