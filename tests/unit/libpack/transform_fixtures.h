#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "packhorse/image_info.h"
#include "packhorse/transform.h"
#include "support/support.h"

/// The vocabulary of the image modes' tests.
namespace packhorse::test {

using File = std::vector<std::byte>;

/// 8 bit, interleaved.
struct Picture {
  int width = 0, height = 0, channels = 3;
  std::vector<std::uint8_t> samples;
  const std::uint8_t* at(int x, int y) const {
    return samples.data() + (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                             static_cast<std::size_t>(x)) *
                                static_cast<std::size_t>(channels);
  }
  friend bool operator==(const Picture&, const Picture&) = default;
};

/// Smooth colours, sharp edges and noise.
Picture make_picture(int width, int height, int channels = 3);
/// Smooth colours only, different in each corner: for comparing resized pictures.
Picture make_gradient(int width, int height);

struct JpegSpec {
  int h = 2, v = 2;   ///< luma sampling factors; the others have 1 x 1
  bool rgb = false;   ///< no YCbCr
  bool ycck = false;  ///< of 4 channels
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

/// By a plain libjpeg loop: grey, RGB or CMYK as stored, not turned. A warning fails the test.
Picture decode_jpeg(Bytes file);

/// Peak signal-to-noise ratio in dB; 99 for equal pictures, 0 for different sizes.
double psnr(const Picture& a, const Picture& b);

/// What apply() made, the bytes copied.
struct Outcome {
  File bytes;
  std::string note;
  ImageInfo info;
};
Outcome transform(std::string_view mode, Bytes file, const TransformOptions& options = {});
/// The same, of what is decoded pixels already.
Outcome transform(std::string_view mode, Bytes file, const ImageInfo& info,
                  const TransformOptions& options);

/// Real photos, from $PACKHORSE_TEST_DATA/imagenet/imagenet200; none (and a note is printed) where
/// that is not set.
std::vector<std::filesystem::path> photos();

}  // namespace packhorse::test
