#include "codecs/band_rows.h"

#include <array>
#include <cstring>

#include "support/image_files.h"
#include "support/support.h"

namespace packhorse {

namespace {

using test::ImageSamples;
using test::kind_of_error;

/// Every sample is another number.
ImageSamples counted(int channels, int bits) {
  ImageSamples samples{.width = 5, .height = 4, .channels = channels, .bits = bits};
  for (int i = 0; i < 5 * 4 * channels; ++i)
    samples.values.push_back(static_cast<std::uint16_t>(bits == 16 ? 65535 - 611 * i : 3 * i + 2));
  return samples;
}

std::vector<float> bands_of(const test::File& file, std::span<const int> bands,
                            const Region& region = {}) {
  const ProbeResult probe = probe_image(file);
  REQUIRE(probe.info);
  const auto rows = open_bands(file, *probe.info, region, bands);
  const std::size_t row = static_cast<std::size_t>(rows->width) * bands.size();
  std::vector<float> all(row * static_cast<std::size_t>(rows->height));
  for (std::size_t y = 0; y < static_cast<std::size_t>(rows->height); ++y)
    rows->next_row(all.data() + y * row);
  return all;
}

}  // namespace

TEST_CASE("bands: samples are fractions of their highest number, an alpha among them") {
  for (const char* const kind : {".png", ".tiff"}) {
    for (const int bits : {8, 16}) {
      for (const int channels : {1, 2, 3, 4}) {
        CAPTURE(kind);
        CAPTURE(bits);
        CAPTURE(channels);
        const ImageSamples samples = counted(channels, bits);
        const test::File file = make_image_file(kind, samples);
        const BandLayout layout = band_layout(file, *probe_image(file).info);
        REQUIRE(layout == BandLayout{channels, bits});
        const float full = bits == 16 ? 65535 : 255;
        const std::vector<float> all = bands_of(file, all_bands(layout));
        REQUIRE(all.size() == samples.values.size());
        for (std::size_t i = 0; i < all.size(); ++i)
          REQUIRE(all[i] == static_cast<float>(samples.values[i]) / full);
        const int last = channels - 1;
        const std::vector<float> part = bands_of(file, std::array{last, 0}, {1, 2, 3, 2});
        REQUIRE(part.size() == 3 * 2 * 2);
        const auto count = static_cast<std::size_t>(channels);
        for (std::size_t i = 0; i < 6; ++i) {
          const std::size_t pixel = (2 + i / 3) * 5 + 1 + i % 3;
          CHECK(part[2 * i] == all[pixel * count + count - 1]);
          CHECK(part[2 * i + 1] == all[pixel * count]);
        }
      }
    }
  }
}

TEST_CASE("bands: floating-point numbers stay as they are, and are no colours") {
  const test::File file = test::make_float_tiff();
  CHECK(!probe_image(file).info);
  const ImageLimits limits = ImageLimits().of_packed();
  const ImageInfo info = *probe_image(file, limits).info;
  CHECK(band_layout(file, info) == BandLayout{1, 32});
  const auto rows = open_bands(file, info, {}, std::array{0});
  std::vector<float> row(2);
  rows->next_row(row.data());
  std::array<float, 2> stored;
  std::memcpy(stored.data(), file.data() + 134, sizeof stored);
  CHECK(row[0] == stored[0]);
  CHECK(row[1] == stored[1]);
  CHECK(kind_of_error([&] { open_colours(file, info); }) == ErrorKind::kUnsupported);
}

TEST_CASE("bands: those of a JPEG are its colours, and a band that is not there is refused") {
  const test::File file = test::make_jpeg(test::make_picture(10, 8));
  const ImageInfo info = *probe_image(file).info;
  CHECK(band_layout(file, info) == BandLayout{3, 8});
  const auto colours = open_colours(file, info);
  const auto bands = open_bands(file, info, {}, std::array{2});
  std::vector<float> row(10);
  for (int y = 0; y < 8; ++y) {
    const std::uint8_t* rgb = colours->next_row();
    bands->next_row(row.data());
    for (std::size_t x = 0; x < 10; ++x)
      REQUIRE(row[x] == static_cast<float>(rgb[3 * x + 2]) / 255.F);
  }
  for (const int band : {-1, 3}) {
    CHECK(kind_of_error([&] { open_bands(file, info, {}, std::array{band}); }) ==
          ErrorKind::kUnsupported);
  }
}

}  // namespace packhorse
