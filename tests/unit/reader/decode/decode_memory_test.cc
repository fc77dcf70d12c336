// A decoder's memory must depend on the crops it made, not on the pictures they came from.
#include <doctest/doctest.h>

#include "image/npy.h"
#include "packhorse/reader/decode.h"
#include "support/image_files.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace {

using packhorse::test::ImageSamples;
using packhorse::test::make_image_file;

constexpr int kSide = 1600;
// A tenth of the width and of the height.
const RandomResizedCrop kSmallCrop{
    .size = 32, .min_scale = 0.01, .max_scale = 0.01, .min_ratio = 1, .max_ratio = 1};

std::size_t kept_after(Bytes file, const ImageInfo& known = {}) {
  Decoder decoder;
  std::vector<std::uint8_t> out(std::size_t{32} * 32 * 3);
  for (std::uint64_t sample = 0; sample < 20; ++sample) {
    decoder.decode(file, kSmallCrop, SampleRandom(0, 0, sample), out, known);
  }
  return decoder.kept_bytes();
}

/// Room for the crop with its blocks and restart segments around it, and for its rows scaled to the
/// output's width.
constexpr std::size_t kRoom =
    std::size_t{3} * (kSide / 10 + 64) * (kSide / 10) + 3 * 32 * kSide / 10;
/// Memory of our JPEG decoder that does not depend on the picture: tables, parts of the scan,
/// coefficients.
constexpr std::size_t kJpegRoom = std::size_t{768} << 10;

}  // namespace

TEST_CASE("decode memory: a JPEG's crop is kept, not the JPEG") {
  CHECK(kept_after(make_jpeg(make_picture(kSide, kSide))) <= kRoom + kJpegRoom);
  const JpegSpec progressive{.progressive = true};  // small ones keep room for all coefficients
  constexpr std::size_t kCoefficients = std::size_t{4} << 20;
  CHECK(kept_after(make_jpeg(make_picture(kSide, kSide), progressive)) <=
        kRoom + kJpegRoom + kCoefficients);
}

TEST_CASE("decode memory: of a roi JPEG also the crop's rows as they are stored") {
  const File file = make_roi(make_jpeg(make_picture(kSide, kSide)));
  CHECK(kept_after(file) <= kRoom + kJpegRoom + file.size() / 5);
}

TEST_CASE("decode memory: so for pixels and for other kinds") {
  const Picture picture = make_picture(kSide, kSide);
  const Bytes pixels = std::as_bytes(std::span(picture.pixels));
  CHECK(kept_after(pixels, {ImageKind::kRaw, 3, 8, 1, kSide, kSide}) <= kRoom);
  const std::string text = "P6 1600 1600 255\n";
  const Bytes header = as_bytes(text);
  File ppm(header.begin(), header.end());
  ppm.insert(ppm.end(), pixels.begin(), pixels.end());
  CHECK(kept_after(ppm) <= kRoom);
}

TEST_CASE("decode memory: of a JPEG that is decoded row by row nothing grows but what is as wide") {
  const ResizeCenterCrop crop{.resize = 32, .size = 32};
  for (const bool roi : {false, true}) {
    CAPTURE(roi);
    const File jpeg = make_jpeg(make_picture(kSide, kSide)), file = roi ? make_roi(jpeg) : jpeg;
    Decoder decoder;
    std::vector<std::uint8_t> out(std::size_t{32} * 32 * 3);
    decoder.decode(file, crop, SampleRandom(0, 0, 0), out);
    CHECK(decoder.kept_bytes() <= kJpegRoom);
  }
}

TEST_CASE("decode memory: of other files, too") {
  const Picture picture = make_picture(kSide, kSide);
  const ResizeCenterCrop crop{.resize = 32, .size = 32};
  for (const File& file : {make_jpeg(picture, {.arithmetic = true}),
                           make_image_file(".png", ImageSamples::of(picture))}) {
    Decoder decoder;
    std::vector<std::uint8_t> out(std::size_t{32} * 32 * 3);
    decoder.decode(file, crop, SampleRandom(0, 0, 0), out);
    CHECK(decoder.kept_bytes() <= kJpegRoom);
    DecodeOptions options;
    options.bands = {.numbers = {0, 1, 2}, .bits = 8};
    Decoder bands(options);
    out.resize(out.size() * sizeof(float));
    bands.decode(file, crop, SampleRandom(0, 0, 0), out);
    CHECK(bands.kept_bytes() <= kJpegRoom);
  }
}

}  // namespace packhorse::reader::test
