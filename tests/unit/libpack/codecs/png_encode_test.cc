#include <algorithm>

#include "codecs/colour_rows.h"
#include "codecs/encode.h"
#include "support/pictures.h"
#include "support/support.h"

namespace packhorse {

namespace {

ImageInfo shape_of(const test::Picture& picture) {
  return {ImageKind::kRaw,
          static_cast<std::uint8_t>(picture.channels),
          8,
          1,
          static_cast<std::uint32_t>(picture.width),
          static_cast<std::uint32_t>(picture.height)};
}

}  // namespace

TEST_CASE("png: holds exactly the pixels it was made of") {
  std::vector<std::byte> png(7, std::byte{1});  // of an image before
  for (const auto& [width, height] : {std::pair(1, 1), {300, 2}, {1, 400}, {129, 65}}) {
    for (const int channels : {1, 3}) {
      const test::Picture picture = test::make_picture(width, height, channels);
      encode_png(shape_of(picture), std::as_bytes(std::span(picture.pixels)), png);
      const ImageInfo info = header_to_decode(png, {});
      CHECK(info.kind == ImageKind::kPng);
      CHECK(info.components == channels);
      const auto image = open_colours(png, info);
      REQUIRE(image->width == width);
      REQUIRE(image->height == height);
      test::Picture decoded{width, height, std::vector<std::uint8_t>(picture.pixels.size()),
                            channels};
      for (int y = 0; y < height; ++y)
        std::copy_n(image->next_row(), width * channels, decoded.at(0, y));
      CHECK(decoded == picture);
    }
  }
}

TEST_CASE("png: an image that none can hold is refused") {
  std::vector<std::byte> png;
  const std::vector<std::byte> pixels(1'000'001);
  const auto kind = [&](std::uint32_t width, std::uint32_t height, std::uint8_t channels) {
    const std::size_t bytes = std::min<std::size_t>(pixels.size(), width * height * channels);
    return test::kind_of_error([&] {
      encode_png({ImageKind::kRaw, channels, 8, 1, width, height}, Bytes(pixels).first(bytes), png);
    });
  };
  CHECK(kind(0, 1, 1) == ErrorKind::kUnsupported);
  CHECK(kind(1, 0, 3) == ErrorKind::kUnsupported);
  CHECK(kind(2, 2, 0) == ErrorKind::kUnsupported);
  CHECK(kind(2, 2, 5) == ErrorKind::kUnsupported);
  CHECK(kind(1'000'001, 1, 1) == ErrorKind::kUnsupported);
  CHECK(kind(2000, 2000, 3) == ErrorKind::kUnsupported);  // fewer bytes than its size says
}

}  // namespace packhorse
