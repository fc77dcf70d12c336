#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "codecs/colour_rows.h"

namespace packhorse {

/// Pixels on each side of the thumbnail that a picture is reduced to.
inline constexpr int kThumbnailSide = 32;

/// 64 bits that stay nearly the same when a picture is encoded again, scaled, or made brighter. The
/// picture's brightness, averaged down to 32 x 32 and turned upright, goes through a discrete
/// cosine transform. Each bit says whether one of the 8 x 8 lowest frequencies, leaving out those
/// constant along an axis, is above their median. Returns nothing for a picture without features,
/// whose bits would be noise. Source: C. Zauner, "Implementation and Benchmarking of Perceptual
/// Image Hash Functions" (2010), 3.2.1; phash.org, ph_dct_imagehash. Any thread.
///
/// `image`: the file's header; `rows` may be at a reduced size.
std::optional<std::uint64_t> perceptual_hash(ColourRows& rows, const ImageInfo& image);

/// The same of a picture, and of how steep its brightness is: pictures of the same scene in other
/// light, such as depths and warmth, have edges in the same places. Nothing where one of the two
/// has no features.
struct PictureHashes {
  std::uint64_t brightness = 0, steepness = 0;
};
std::optional<PictureHashes> picture_hashes(ColourRows& rows, const ImageInfo& image);

/// All pairs (i, j), i < j, of hashes that differ in at most `max_distance` <= 7 bits; `hashes`
/// must be sorted and unique. Each pair is given once. Memory: 16 bytes a hash.
std::vector<std::pair<std::uint32_t, std::uint32_t>> near_pairs(
    const std::vector<std::uint64_t>& hashes, int max_distance, int jobs);

}  // namespace packhorse
