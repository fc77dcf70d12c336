// ScaledDct::kWhenCovered: the changes it makes, and that it makes no others.
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/file.h"
#include "packhorse/reader/decode.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace {

Picture decode(Bytes file, const Augment& augment, ScaledDct scaled, std::uint64_t sample = 0) {
  const int size = output_size(augment).width;
  Picture picture{size, size, std::vector<std::uint8_t>(static_cast<std::size_t>(size * size * 3))};
  Decoder({.scaled_dct = scaled}).decode(file, augment, SampleRandom(0, 0, sample), picture.pixels);
  return picture;
}

double mean_difference(const Picture& a, const Picture& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) {
    sum += std::abs(int{a.pixels[i]} - int{b.pixels[i]});
  }
  return sum / static_cast<double>(a.pixels.size());
}

}  // namespace

TEST_CASE("scaled decode: smooth pictures lie where they lay, turned, cropped and mirrored") {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const File plain =
        make_jpeg(make_gradient(419, 307), {.quality = 98, .orientation = orientation});
    for (const File& file : {plain, make_roi(plain)}) {
      for (int size : {20, 33, 70}) {
        for (std::uint64_t sample = 0; sample < 10; ++sample) {
          CAPTURE(orientation);
          CAPTURE(size);
          CAPTURE(sample);
          const RandomResizedCrop crop{.size = size, .min_scale = 0.3};
          const Picture exact = decode(file, crop, ScaledDct::kOff, sample);
          CHECK(largest_difference(decode(file, crop, ScaledDct::kWhenCovered, sample), exact) <=
                3);
        }
      }
    }
  }
}

TEST_CASE("scaled decode: a crop that would have too few pixels is decoded in full") {
  const auto same = [](int width, int height, int size) {
    const File file = make_jpeg(make_picture(width, height));
    return decode(file, Resize{size}, ScaledDct::kWhenCovered) ==
           decode(file, Resize{size}, ScaledDct::kOff);
  };
  for (const auto& [width, height] : {std::pair{300, 200}, {200, 300}, {201, 201}}) {
    CHECK(same(width, height, 101));
    CHECK(!same(width, height, 100));
  }
}

TEST_CASE("scaled decode: other kinds of images do not change") {
  const std::string text = "P6 300 200 255\n";
  const Picture picture = make_picture(300, 200);
  File file(text.size() + picture.pixels.size());
  std::memcpy(file.data(), text.data(), text.size());
  std::memcpy(file.data() + text.size(), picture.pixels.data(), picture.pixels.size());
  const ResizeCenterCrop crop{.resize = 32, .size = 32};
  CHECK(decode(file, crop, ScaledDct::kWhenCovered) == decode(file, crop, ScaledDct::kOff));
}

TEST_CASE("scaled decode: real photos differ by no more than docs/augment.md says") {
  double sum = 0;
  int crops = 0;
  for (const auto& path : photos()) {
    CAPTURE(path.string());
    const File file = read_file(path);
    for (int size : {48, 112}) {
      const RandomResizedCrop crop{.size = size};
      const Picture exact = decode(file, crop, ScaledDct::kOff, 1),
                    scaled = decode(file, crop, ScaledDct::kWhenCovered, 1);
      if (exact == scaled) continue;
      CHECK(mean_difference(exact, scaled) <= 10);
      CHECK(largest_difference(exact, scaled) <= 80);
      sum += mean_difference(exact, scaled);
      ++crops;
    }
  }
  if (crops > 0) CHECK(sum / crops <= 2);
}

}  // namespace packhorse::reader::test
