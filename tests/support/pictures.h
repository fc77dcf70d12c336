#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "packhorse/base/bytes.h"

/// Pictures to test with, made or real.
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

/// Smooth colours, sharp edges and noise: nothing survives a mistake in it unnoticed. `variant`
/// changes it.
Picture make_picture(int width, int height, int channels = 3, unsigned variant = 0);
/// Smooth colours only, different in each corner: for comparing resized pictures.
Picture make_gradient(int width, int height);

struct JpegSpec {
  int h = 2, v = 2;    ///< luma sampling factors; the others have 1 x 1
  int components = 0;  ///< of an RGB picture: 1 = its green, 4 = CMYK without black; 0 = as it is
  bool rgb = false;    ///< no YCbCr
  bool ycck = false;   ///< of 4 components
  bool adobe = true;   ///< of 4 components: with the marker; without it, made of inverted pixels
  bool progressive = false;
  bool arithmetic = false;
  int restart_interval = 0;  ///< MCUs
  int quality = 90;
  int orientation = 0;       ///< writes an EXIF segment when not 0
  std::string profile = {};  ///< written as an ICC segment
  std::string comment = {};
};
/// Grey, RGB or CMYK by the picture's channels.
File make_jpeg(const Picture& picture, const JpegSpec& spec = {});

/// 2 x 1 grey pixels in 32-bit floating point: sound, and nothing that packhorse decodes.
File make_float_tiff();

enum class Colours { kAsStored, kRgb };
/// By a plain libjpeg loop, not turned, at one over `scale` of its sides (1, 2, 4 or 8); as stored
/// is grey, RGB or CMYK. A warning fails the test.
Picture decode_plainly(Bytes file, Colours colours = Colours::kAsStored, unsigned scale = 1);

/// Peak signal-to-noise ratio in dB; 99 for equal pictures, 0 for different sizes.
double psnr(const Picture& a, const Picture& b);

/// Real photos, from $PACKHORSE_TEST_DATA/imagenet/imagenet200; none, and skipped(), where that is
/// not set.
std::vector<std::filesystem::path> photos();

}  // namespace packhorse::test
