#pragma once

#include <string>

#include "support/pictures.h"

/// Image files for tests, written by hand, so that no decoder is tested with its own library's
/// files. tests/interop/test_codecs.py has those of other programs.
namespace packhorse::test {

/// A picture's samples of 8 or 16 bits; the last of two or four channels is alpha.
struct ImageSamples {
  int width = 0, height = 0, channels = 3, bits = 8;
  std::vector<std::uint16_t> values = {};
  /// Of 16 bits, each sample is that of 8 times 257.
  static ImageSamples of(const Picture& picture, int bits = 8);
};

/// Encodes as ".png", ".tiff", ".bmp", ".ppm" (".pgm" when grey) or, without loss, ".webp". Throws
/// where the kind has no such samples.
File make_image_file(const std::string& extension, const ImageSamples& samples);

}  // namespace packhorse::test
