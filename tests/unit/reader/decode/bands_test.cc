#include <cmath>

#include "packhorse/reader/decode.h"
#include "packhorse/reader/pixel_format.h"
#include "support/image_files.h"
#include "unit/reader/fixtures.h"

/// Pixels as bands, beside the same pixels as colours of 8 bits. tests/interop/test_bands.py
/// compares them with what was stored and with torch's resize.
namespace packhorse::reader::test {

namespace {

using packhorse::test::ImageSamples;
using packhorse::test::make_image_file;

Decoder decoder_of(std::vector<int> bands, int bits = 8) {
  DecodeOptions options;
  options.bands = {.numbers = std::move(bands), .bits = bits};
  return Decoder(options);
}

/// The bands as levels of 8 bits.
std::vector<std::uint8_t> levels_of(std::span<const std::uint8_t> pixels, std::size_t bands) {
  const std::span<const float> numbers{reinterpret_cast<const float*>(pixels.data()),
                                       pixels.size() / sizeof(float)};
  std::vector<std::uint8_t> levels(numbers.size());
  write_bands(numbers, bands, {.type = PixelType::kUint8}, levels);
  return levels;
}

int largest_difference(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  REQUIRE(a.size() == b.size());
  int largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// One picture in every kind that holds its samples, and on its side.
std::vector<File> files() {
  const Picture picture = make_picture(83, 71);
  std::vector<File> made = {make_jpeg(picture, {.orientation = 6}), make_jpeg(picture)};
  for (const char* const kind : {".png", ".tiff", ".bmp", ".ppm", ".webp"})
    made.push_back(make_image_file(kind, ImageSamples::of(picture)));
  return made;
}

}  // namespace

TEST_CASE("bands: crops are those of colours, within a level") {
  Decoder colours;
  Decoder bands = decoder_of({0, 1, 2});
  for (const File& file : files()) {
    for (const Augment& augment :
         {Augment{RandomResizedCrop{40}}, Augment{ResizeCenterCrop{50, 44}}, Augment{Resize{33}},
          Augment{CenterCrop{90}}, Augment{PadCrop{32, 8}}}) {
      for (std::uint64_t sample = 0; sample < 8; ++sample) {
        const auto side = static_cast<std::size_t>(output_size(augment).width);
        std::vector<std::uint8_t> rgb(side * side * 3), floats(side * side * 3 * sizeof(float));
        const SampleRandom random(5, 1, sample);
        colours.decode(file, augment, random, rgb);
        bands.decode(file, augment, random, floats);
        CHECK(largest_difference(levels_of(floats, 3), rgb) <= 1);
      }
    }
  }
}

TEST_CASE("bands: placed pictures are those of colours, and so is what lies around them") {
  Decoder colours;
  Decoder bands = decoder_of({0, 1, 2});
  const ImageSize size{60, 70};
  const std::size_t pixels = 60 * 70;
  for (const File& file : files()) {
    const ImageInfo info = colours.header(file);
    for (const bool is_tile : {false, true}) {
      for (const Matrix& warp : {Matrix{}, Matrix::affine(.9, .3, -4, -.2, 1.1, 9),
                                 Matrix{{.8, .1, 5, -.1, 1.2, 3, .002, -.001, 1}}}) {
        const Placement placement{{2, 3, 60, 66}, .7, .9, -5, 4, warp};
        std::vector<std::uint8_t> rgb(pixels * 3, 51), floats(pixels * 3 * sizeof(float));
        std::fill_n(reinterpret_cast<float*>(floats.data()), pixels * 3, 51 / 255.F);
        colours.draw(file, info, placement, is_tile, {rgb, size});
        bands.draw(file, info, placement, is_tile, {floats, size});
        CHECK(largest_difference(levels_of(floats, 3), rgb) <= 2);
        CHECK(rgb != std::vector<std::uint8_t>(pixels * 3, 51));
      }
    }
  }
}

TEST_CASE("bands: any of them, of 16 bits, upright and exact") {
  ImageSamples samples{.width = 37, .height = 23, .channels = 4, .bits = 16};
  for (int i = 0; i < 37 * 23 * 4; ++i)
    samples.values.push_back(static_cast<std::uint16_t>(65535 - 19 * i));
  const File file = make_image_file(".tiff", samples);
  std::vector<std::uint8_t> pixels;
  int width = 0, height = 0;
  decoder_of({3, 1}, 16).decode_full(file, pixels, width, height);
  REQUIRE(width == 37);
  REQUIRE(height == 23);
  const std::span<const float> numbers{reinterpret_cast<const float*>(pixels.data()),
                                       pixels.size() / sizeof(float)};
  std::vector<std::uint16_t> wide(numbers.size());
  write_bands(numbers, 2, {.type = PixelType::kUint16},
              {reinterpret_cast<std::uint8_t*>(wide.data()), wide.size() * 2});
  for (std::size_t i = 0; i < wide.size() / 2; ++i) {
    REQUIRE(wide[2 * i] == samples.values[4 * i + 3]);
    REQUIRE(wide[2 * i + 1] == samples.values[4 * i + 1]);
  }
}

TEST_CASE("bands: an image of other bands or bits is refused, and so are changes of colours") {
  const File file = make_image_file(".png", ImageSamples::of(make_picture(20, 20), 16));
  std::vector<std::uint8_t> pixels;
  int width = 0, height = 0;
  const auto refused = [&](const BandChoice& choice) {
    DecodeOptions options;
    options.bands = choice;
    Decoder decoder(options);
    return kind_of_error([&] { decoder.decode_full(file, pixels, width, height); }) ==
           ErrorKind::kUnsupported;
  };
  CHECK(refused({.numbers = {0}, .bits = 8}));
  CHECK(refused({.numbers = {0}, .bits = 32}));
  CHECK(refused({.numbers = {0}, .of = 4, .bits = 16}));
  CHECK(refused({.numbers = {3}, .bits = 16}));
  decoder_of({0, 2}, 0).decode_full(file, pixels, width, height);
  DecodeOptions options;
  options.bands.numbers = {0};
  options.pixels = parse_pixel_steps("ColorJitter(0.5)");
  CHECK(kind_of_error([&] { Decoder decoder(options); }) == ErrorKind::kUsage);
}

}  // namespace packhorse::reader::test
