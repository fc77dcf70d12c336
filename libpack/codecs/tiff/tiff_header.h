#pragma once

#include <string>

#include "codecs/tiff/directory.h"

namespace packhorse::codecs::tiff {

// Values of Compression, PhotometricInterpretation, PlanarConfiguration, SampleFormat and
// ExtraSamples that matter here.
inline constexpr std::uint32_t kJpegCompression = 7;
inline constexpr std::uint32_t kWhiteIsZero = 0, kBlackIsZero = 1, kRgbColours = 2, kPalette = 3,
                               kSeparated = 5, kYcbcr = 6;
inline constexpr std::uint32_t kSeparate = 2;
inline constexpr std::uint32_t kUnsigned = 1, kFloat = 3;
inline constexpr std::uint32_t kAssociated = 1, kUnassociated = 2;

/// One page's picture.
struct Picture {
  std::size_t directory = 0;  ///< where its directory lies
  ImageInfo info;
  PixelLayout layout;
  std::uint32_t photometric = 0, compression = 1, planar = 1;
  std::uint32_t samples = 1, bits = 1;
  std::uint64_t block_bytes = 0;  ///< of a strip or a row of tiles, as they are decoded
  std::string unsupported = {};   ///< what of it nothing here decodes; empty when all is well

  /// Whether the pixels of both could be the bands of one picture.
  bool is_like(const Picture& other) const {
    return info == other.info && layout == other.layout && photometric == other.photometric;
  }
};

/// What the directory says.
Picture read_picture(const Directory& directory);

/// The pages of a file that are pictures, and the directory of the first of them: reduced copies
/// and masks, which say that they are, do not count. Nothing when directories lie in a circle.
struct Pages {
  std::uint32_t pictures = 0;
  Directory first;
  std::vector<Directory> all;  ///< the first kMostStacked of them
};
inline constexpr std::size_t kMostStacked = 255;
std::optional<Pages> find_pages(const Cursor& data);

}  // namespace packhorse::codecs::tiff
