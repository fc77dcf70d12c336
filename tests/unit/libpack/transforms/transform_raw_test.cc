#include <doctest/doctest.h>

#include <opencv2/imgproc.hpp>

#include "base/file.h"
#include "codecs/image_header.h"
#include "transform_fixtures.h"

namespace packhorse::test {

namespace {

Picture pixels_of(const Outcome& made) {
  const auto size = static_cast<int>(made.info.width);
  Picture picture{size, size};
  for (std::byte value : made.bytes) picture.pixels.push_back(std::to_integer<std::uint8_t>(value));
  return picture;
}

void check_shape(const Outcome& made, std::uint32_t size) {
  CHECK(made.bytes.size() == std::size_t{size} * size * 3);
  const ImageInfo expected{.kind = ImageKind::kRaw, .components = 3, .width = size, .height = size};
  CHECK(made.info == expected);
}

/// The picture resized by OpenCV, then cut from the middle or put onto black.
Picture expected_square(const Picture& picture, int width, int height, int size) {
  cv::Mat from(picture.height, picture.width, CV_8UC3,
               const_cast<std::uint8_t*>(picture.pixels.data()));
  cv::Mat scaled, square(size, size, CV_8UC3, cv::Scalar(0, 0, 0));
  const bool shrinks = width <= picture.width;
  cv::resize(from, scaled, cv::Size(width, height), 0, 0,
             shrinks ? cv::INTER_AREA : cv::INTER_LINEAR);
  const int w = std::min(width, size), h = std::min(height, size);
  scaled({(width - w) / 2, (height - h) / 2, w, h})
      .copyTo(square({(size - w) / 2, (size - h) / 2, w, h}));
  Picture result{size, size};
  result.pixels.assign(square.data, square.data + square.total() * 3);
  return result;
}

constexpr TransformOptions::Fit kLetterbox = TransformOptions::Fit::kLetterbox;

}  // namespace

TEST_CASE("raw: the middle of the picture, or all of it on black") {
  const Picture picture = make_gradient(640, 480);
  const File file = make_jpeg(picture, {.h = 1, .v = 1, .quality = 100});
  const Outcome crop = transform("raw", file, {.size = 96});
  check_shape(crop, 96);
  CHECK(crop.note == "");
  CHECK(psnr(pixels_of(crop), expected_square(picture, 128, 96, 96)) > 46);

  const Outcome boxed = transform("raw", file, {.size = 96, .fit = kLetterbox});
  check_shape(boxed, 96);
  CHECK(psnr(pixels_of(boxed), expected_square(picture, 96, 72, 96)) > 46);
  CHECK(*pixels_of(boxed).at(48, 11) == 0);
  CHECK(*pixels_of(boxed).at(48, 12) != 0);
}

TEST_CASE("raw: small pictures are enlarged") {
  const Picture picture = make_gradient(48, 32);
  const File file = make_jpeg(picture, {.h = 1, .v = 1, .quality = 100});
  const Outcome crop = transform("raw", file, {.size = 64});
  check_shape(crop, 64);
  CHECK(crop.note == "enlarged: smaller than the size asked for");
  CHECK(psnr(pixels_of(crop), expected_square(picture, 96, 64, 64)) > 44);
  const Outcome boxed = transform("raw", file, {.size = 96, .fit = kLetterbox});
  CHECK(psnr(pixels_of(boxed), expected_square(picture, 96, 64, 96)) > 44);
}

TEST_CASE("raw: grey has three equal channels") {
  const Outcome made =
      transform("raw", make_jpeg(make_picture(90, 70, 1), {.h = 1, .v = 1}), {.size = 33});
  check_shape(made, 33);
  for (std::size_t i = 0; i < made.bytes.size(); i += 3) {
    REQUIRE(made.bytes[i] == made.bytes[i + 1]);
    REQUIRE(made.bytes[i] == made.bytes[i + 2]);
  }
}

TEST_CASE("raw: the orientation is applied") {
  const Picture picture = make_gradient(64, 64);
  const Picture straight = pixels_of(transform("raw", make_jpeg(picture), {.size = 32}));
  const Picture turned =
      pixels_of(transform("raw", make_jpeg(picture, {.orientation = 6}), {.size = 32}));
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) REQUIRE(*turned.at(x, y) == *straight.at(y, 31 - x));
  }
}

TEST_CASE("raw: pixels of the right size stay, others are refused") {
  const Outcome made = transform("raw", make_jpeg(make_gradient(64, 64)), {.size = 32});
  const Outcome again = transform("raw", made.bytes, made.info, {.size = 32});
  CHECK(again.bytes == made.bytes);
  CHECK(again.info == made.info);
  CHECK(again.note == "kept: already pixels of this size");
  CHECK(kind_of_error([&] { transform("raw", made.bytes, made.info, {.size = 33}); }) ==
        ErrorKind::kUnsupported);
}

TEST_CASE("raw: every shape and size gives the whole square") {
  for (const auto& [w, h] : {std::pair{1, 1}, {1, 40}, {40, 1}, {2000, 3}, {17, 33}}) {
    for (int size : {1, 2, 16, 64}) {
      for (TransformOptions::Fit fit : {TransformOptions::Fit::kCrop, kLetterbox}) {
        check_shape(transform("raw", make_jpeg(make_picture(w, h)), {.size = size, .fit = fit}),
                    static_cast<std::uint32_t>(size));
      }
    }
  }
}

TEST_CASE("raw: all samples of the project can be made pixels") {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(samples() / "shapes")) {
    if (!entry.is_regular_file()) continue;
    const File file = read_file(entry.path());
    const ProbeResult probe = probe_image(file);
    if (!probe.info) continue;
    CAPTURE(entry.path().string());
    check_shape(transform("raw", file, {.size = 48}), 48);
    CHECK(transform("resize", file, {.short_side = 48}).info.kind == ImageKind::kJpeg);
  }
}

}  // namespace packhorse::test
