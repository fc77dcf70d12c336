#include "packhorse/targets/label_image.h"

#include <doctest/doctest.h>

#include "codecs/encode.h"
#include "packhorse/base/error.h"
#include "targets/pixel_map.h"

namespace packhorse::test {

namespace {

std::vector<std::byte> grey_png(std::uint32_t width, std::uint32_t height,
                                std::uint8_t components) {
  ImageInfo info;
  info.width = width, info.height = height, info.components = components;
  std::vector<std::byte> pixels(std::size_t{width} * height * components), png;
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::byte>(i % 7);
  encode_png(info, pixels, png);
  return png;
}

}  // namespace

TEST_CASE("label image: a PNG's numbers are its labels") {
  const LabelImage image = decode_label_image(grey_png(5, 3, 1), 5, 3);
  REQUIRE(image.labels.size() == 15);
  for (std::size_t i = 0; i < 15; ++i) CHECK(image.labels[i] == i % 7);
  CHECK(image.at(1, 2) == 11 % 7);
  const LabelImage size = label_image_size(grey_png(5, 3, 1));
  CHECK(size.width == 5);
  CHECK(size.height == 3);
}

TEST_CASE("label image: other sizes, colours and damage are refused") {
  const std::vector<std::byte> png = grey_png(5, 3, 1);
  CHECK_THROWS_AS(static_cast<void>(decode_label_image(png, 3, 5)), Error);
  CHECK_THROWS_AS(static_cast<void>(decode_label_image(grey_png(5, 3, 3), 5, 3)), Error);
  for (std::size_t size = 0; size < png.size() - 12; ++size) {
    const Bytes part(png.data(), size);
    CHECK_THROWS_AS(static_cast<void>(decode_label_image(part, 5, 3)), Error);
  }
  std::vector<std::byte> flipped = png;
  flipped[png.size() - 20] ^= std::byte{0x10};  // inside of IDAT
  CHECK_THROWS_AS(static_cast<void>(decode_label_image(flipped, 5, 3)), Error);
}

TEST_CASE("label image: a map takes the nearest pixel, and says what lies outside") {
  const LabelImage image = decode_label_image(grey_png(4, 2, 1), 4, 2);  // 0 1 2 3 / 4 5 6 0
  const PixelMap twice{.scale_x = 2, .scale_y = 2, .width = 8, .height = 4};
  const LabelImage large = map_labels(image, twice, 255);
  CHECK(large.width == 8);
  CHECK(large.at(3, 1) == 1);
  CHECK(large.at(4, 3) == 6);
  const PixelMap turned{.turn = Turn(8), .width = 4, .height = 2};
  const LabelImage upright = map_labels(image, turned, 255);
  CHECK(upright.width == 2);
  CHECK(upright.height == 4);
  CHECK(upright.at(0, 0) == 3);  // the top right one
  CHECK(upright.at(1, 3) == 4);  // the bottom left one
  const PixelMap moved{.move_x = 2, .width = 6, .height = 2};
  CHECK(map_labels(image, moved, 9).at(0, 0) == 9);
  CHECK(map_labels(image, moved, 9).at(2, 0) == 0);
}

}  // namespace packhorse::test
