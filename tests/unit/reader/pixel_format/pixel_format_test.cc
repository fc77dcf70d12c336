#include "packhorse/reader/pixel_format.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "pixel_format/pixel_writer.h"
#include "support/instruction_sets.h"
#include "unit/reader/fixtures.h"
#include "unit/reader/loader/epoch.h"

namespace packhorse::reader::test {

namespace {

using packhorse::test::for_each_instruction_set;
using Samples = std::vector<std::uint8_t>;

const std::vector<float> kMean = {0.485f, 0.456f, 0.406f};
const std::vector<float> kDeviation = {0.229f, 0.224f, 0.225f};

/// Every value in every channel, in an order in which no two channels agree.
Samples all_values(std::size_t pixels) {
  Samples samples(3 * pixels);
  for (std::size_t i = 0; i < pixels; ++i) {
    samples[3 * i] = static_cast<std::uint8_t>(i);
    samples[3 * i + 1] = static_cast<std::uint8_t>(255 - i);
    samples[3 * i + 2] = static_cast<std::uint8_t>(7 * i + 3);
  }
  return samples;
}

template <class T>
std::vector<T> written(const PixelFormat& format, const Samples& pixels) {
  std::vector<T> out(pixels.size());
  PixelWriter(format).write(pixels,
                            {reinterpret_cast<std::uint8_t*>(out.data()), out.size() * sizeof(T)});
  return out;
}

/// The definition, value by value: torchvision's, with a division where it divides.
std::vector<float> defined(const PixelFormat& format, const Samples& pixels) {
  std::vector<float> values;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const float scaled = static_cast<float>(pixels[i]) / 255.0f;
    const float centred = scaled - (format.mean.empty() ? 0 : format.mean[i % 3]);
    values.push_back(centred / (format.mean.empty() ? 1 : format.deviation[i % 3]));
  }
  return values;
}

template <class T>
std::vector<T> as_planes(const std::vector<T>& interleaved) {
  std::vector<T> planes;
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t i = c; i < interleaved.size(); i += 3) planes.push_back(interleaved[i]);
  }
  return planes;
}

std::vector<std::uint16_t> halves_of(const std::vector<float>& values) {
  std::vector<std::uint16_t> halves;
  for (const float value : values) halves.push_back(half_of(value));
  return halves;
}

/// The value of a half, by its definition.
double value_of(unsigned half) {
  const int exponent = static_cast<int>(half >> 10 & 31), fraction = static_cast<int>(half & 1023);
  return exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
}

}  // namespace

TEST_CASE("pixel format: every value, in every type, layout and number of pixels") {
  for_each_instruction_set([] {
    for (const bool normalized : {false, true}) {
      for (const std::size_t count : {1u, 2u, 3u, 5u, 7u, 8u, 15u, 16u, 17u, 33u, 63u, 257u}) {
        CAPTURE(count);
        const Samples pixels = all_values(count);
        PixelFormat format;
        if (normalized) format = {.mean = kMean, .deviation = kDeviation};
        format.type = PixelType::kFloat32;
        const std::vector<float> floats = defined(format, pixels);
        CHECK(written<float>(format, pixels) == floats);
        format.type = PixelType::kFloat16;
        CHECK(written<std::uint16_t>(format, pixels) == halves_of(floats));
        format.layout = PixelLayout::kPlanes;
        CHECK(written<std::uint16_t>(format, pixels) == as_planes(halves_of(floats)));
        format.type = PixelType::kFloat32;
        CHECK(written<float>(format, pixels) == as_planes(floats));
        CHECK(written<std::uint8_t>({.layout = PixelLayout::kPlanes}, pixels) == as_planes(pixels));
      }
    }
  });
}

TEST_CASE("pixel format: every value with means and deviations of any size") {
  for_each_instruction_set([] {
    const Samples pixels = all_values(256);
    for (float mean = 0; mean <= 1; mean += 0.083f) {
      for (const float deviation : {0.001f, 0.2290001f, 1 / 3.0f, 1.0f, 255.0f, 3e5f}) {
        PixelFormat format{.type = PixelType::kFloat32,
                           .mean = {mean, mean / 3, 1 - mean},
                           .deviation = {deviation, deviation * 1.7f, deviation / 1.3f}};
        const std::vector<float> floats = defined(format, pixels);
        CHECK(written<float>(format, pixels) == floats);
        format.type = PixelType::kFloat16;
        CHECK(written<std::uint16_t>(format, pixels) == halves_of(floats));
      }
    }
  });
}

TEST_CASE("pixel format: every half has its value, and halves are blended as their values are") {
  std::vector<std::uint16_t> all;
  for (unsigned half = 0; half < 0x7c00; ++half) {
    REQUIRE(double{float_of(static_cast<Half>(half))} == value_of(half));
    REQUIRE(double{float_of(static_cast<Half>(0x8000 | half))} == -value_of(half));
    all.push_back(static_cast<std::uint16_t>(half));
  }
  CHECK(std::isinf(float_of(Half{0x7c00})));
  CHECK(std::isnan(float_of(Half{0x7e00})));
  const std::vector<std::uint16_t> other(all.rbegin(), all.rend());
  for_each_instruction_set([&] {
    for (const float share : {1.0F / 256, .25F, 255.0F / 256}) {
      std::vector<std::uint16_t> blended = all;
      fastest_pixel_kernels().blend_halves(other.data(), all.size(), share, blended.data());
      for (std::size_t i = 0; i < all.size(); ++i) {
        const float exact = static_cast<float>(value_of(unsigned{all[i]}) * double{share} +
                                               value_of(unsigned{other[i]}) * (1 - double{share}));
        REQUIRE(blended[i] == half_of(exact));
      }
    }
  });
}

TEST_CASE("pixel format: halves are rounded to the nearest, ties to even") {
  for (unsigned half = 0; half < 0x7bff; ++half) {
    const double here = value_of(half), next = value_of(half + 1), middle = (here + next) / 2;
    const auto exact = static_cast<float>(middle);
    const float below = std::nextafter(exact, 0.0f), above = std::nextafter(exact, 1e6f);
    REQUIRE(half_of(static_cast<float>(here)) == half);
    REQUIRE(half_of(exact) == (half % 2 == 0 ? half : half + 1));
    REQUIRE(half_of(below) == half);
    REQUIRE(half_of(above) == half + 1);
    REQUIRE(half_of(-above) == (0x8000 | (half + 1)));
  }
  CHECK(half_of(65519.996f) == 0x7bff);
  CHECK(half_of(65520) == 0x7c00);
  CHECK(half_of(-std::numeric_limits<float>::infinity()) == 0xfc00);
  CHECK(half_of(std::numeric_limits<float>::quiet_NaN()) == 0x7e00);
}

TEST_CASE("pixel format: what makes no sense is refused") {
  const auto refused = [](PixelFormat format) {
    return kind_of_error([&] { format.validate(); }) == ErrorKind::kUsage;
  };
  PixelFormat{}.validate();
  PixelFormat{.type = PixelType::kFloat16, .mean = kMean, .deviation = kDeviation}.validate();
  CHECK(refused({.mean = kMean}));
  CHECK(refused({.deviation = kDeviation}));
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {0.0f, -1.0f, kNan, std::numeric_limits<float>::infinity()})
    CHECK(refused({.type = PixelType::kFloat32, .mean = {0, 0, 0}, .deviation = {1, bad, 1}}));
  for (const float bad : {kNan, -0.1f, 123.675f})
    CHECK(refused({.type = PixelType::kFloat32, .mean = {0, bad, 0}, .deviation = {1, 1, 1}}));
  const PixelFormat large{
      .type = PixelType::kFloat32, .mean = {0, 0, 0}, .deviation = {1, 1e-5f, 1}};
  large.validate();
  CHECK(refused({.type = PixelType::kFloat16, .deviation = large.deviation}));
  CHECK(refused({.type = PixelType::kFloat32, .deviation = {1e-40f, 1, 1}}));
}

TEST_CASE("loader: batches in a pixel format are those of 8 bits, converted") {
  const auto dataset = make_dataset(23);
  LoaderOptions options = options_for(2);
  options.pixels = parse_pixel_steps("RandomErasing(0.5)");
  options.tail = Tail::kKeep;
  Loader plain(dataset, options);
  const Epoch bytes = epoch_of(plain, 1);
  const std::size_t image = 24 * 24 * 3;
  for (const PixelLayout layout : {PixelLayout::kInterleaved, PixelLayout::kPlanes}) {
    options.format = {PixelType::kFloat32, layout, kMean, kDeviation};
    for (const int workers : {0, 3}) {
      options.workers = workers;
      Loader loader(dataset, options);
      loader.start_epoch(1);
      std::vector<float> all, expected;
      while (const std::optional<Batch> batch = loader.next())
        all.insert(all.end(), batch->images_as().begin(), batch->images_as().end());
      for (std::size_t i = 0; i < bytes.pixels.size(); i += image) {
        const auto begin = bytes.pixels.begin() + static_cast<std::ptrdiff_t>(i);
        const std::vector<float> one =
            written<float>(options.format, Samples(begin, begin + image));
        expected.insert(expected.end(), one.begin(), one.end());
      }
      CHECK(all == expected);
    }
  }
}

TEST_CASE("loader: samples that are left encoded have no other pixel format") {
  LoaderOptions options = options_for(0);
  options.encoded_share = 0.5;
  options.validate();
  options.format.layout = PixelLayout::kPlanes;
  CHECK(kind_of_error([&] { options.validate(); }) == ErrorKind::kUsage);
}

}  // namespace packhorse::reader::test
