#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "packhorse/base/bytes.h"

/// Pictures for tests, made or real.
namespace packhorse::test {

using File = std::vector<std::byte>;

/// 8 bit, interleaved.
struct Picture {
  int width = 0, height = 0;
  std::vector<std::uint8_t> pixels = {};
  int channels = 3;
  const std::uint8_t* at(int x, int y) const {
    return pixels.data() + (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                            static_cast<std::size_t>(x)) *
                               static_cast<std::size_t>(channels);
  }
  std::uint8_t* at(int x, int y) {
    return const_cast<std::uint8_t*>(std::as_const(*this).at(x, y));
  }
  friend bool operator==(const Picture&, const Picture&) = default;
};

/// Makes a picture of smooth colours, sharp edges and noise, in which every mistake shows.
/// `variant` changes it.
Picture make_picture(int width, int height, int channels = 3, unsigned variant = 0);
/// Makes a picture of smooth colours only, different in each corner: for comparing resized
/// pictures.
Picture make_gradient(int width, int height);

struct JpegSpec {
  int h = 2, v = 2;    ///< luma sampling factors; the others have 1 x 1
  int components = 0;  ///< for an RGB picture: 1 = its green, 4 = CMYK without black; 0 = as it is
  bool rgb = false;    ///< no YCbCr
  bool ycck = false;   ///< for 4 components
  bool adobe = true;   ///< for 4 components: with the marker
  bool progressive = false;
  bool arithmetic = false;
  int restart_interval = 0;  ///< MCUs
  int quality = 90;
  int orientation = 0;       ///< writes an EXIF segment when not 0
  std::string profile = {};  ///< written as an ICC segment
  std::string comment = {};
};
/// Encodes grey, RGB or CMYK, depending on the picture's channels.
File make_jpeg(const Picture& picture, const JpegSpec& spec = {});

/// A valid file that packhorse does not decode: 2 x 1 grey pixels in 32-bit floating point.
File make_float_tiff();

enum class Colours { kAsStored, kRgb };
/// Decodes in a plain libjpeg loop, without turning, with sides divided by `scale` (1, 2, 4 or 8);
/// kAsStored gives grey, RGB or CMYK. A warning fails the test.
Picture decode_plainly(Bytes file, Colours colours = Colours::kAsStored, unsigned scale = 1);

/// Peak signal-to-noise ratio in dB; 99 for equal pictures, 0 for different sizes.
double psnr(const Picture& a, const Picture& b);

/// Real photos, each kEvery-th of $PACKHORSE_TEST_DATA/imagenet/imagenet200. Where that is not set:
/// none, after calling skipped().
std::vector<std::filesystem::path> photos();

}  // namespace packhorse::test
