#pragma once

#include <cstdint>
#include <opencv2/core.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/image/image_info.h"
#include "packhorse/targets/label_image.h"
#include "shared/request.h"

/// Small pictures of samples, for contact sheets and reports.
namespace packhorse::inspect {

struct Tile {
  std::size_t sample = 0;
  std::string key;
  std::int64_t label = 0;
  cv::Mat picture;            ///< BGR, upright, its longer side at most `side`
  int width = 0, height = 0;  ///< pixels of the image itself, upright
  std::string damage;         ///< why there is no picture; empty when there is one
  std::string caption;        ///< its classes, if it has several, and its caption
  std::vector<int> bands;     ///< that are shown, counted from 0, where it has no colours
  std::size_t objects = 0;    ///< that the image has; they are drawn over the picture
  std::vector<std::size_t> object_labels;  ///< which classes they are of, ascending
  std::vector<std::size_t> pixel_labels;   ///< those of the mask of its pixels, likewise
};

/// "bands 0, 1 and 2" or "band 0"
std::string bands_text(const std::vector<int>& bands);

/// Makes one tile for each sample, in their order. Its longer side has `side` pixels; a small image
/// is enlarged by a whole factor, so that its pixels stay intact. Samples that are no colours are
/// shown by their first three bands, or the first, each from its least to its greatest number.
/// Tile::damage reports damage, also of objects and captions. Uses the threads and limits of
/// `request`. Throws Error(kInterrupted | kIo).
std::vector<Tile> make_tiles(const PackedDataset& dataset, std::span<const std::size_t> samples,
                             int side, const Request& request);

/// The picture of a sample at its full size. Throws Error(kCorrupt | kUnsupported | kIo).
Tile make_picture(const PackedDataset& dataset, std::size_t sample, const ImageLimits& limits);

/// Tints a picture (BGR, upright, scaled) in the colours of its pixels' classes, by the mask of the
/// stored image that `image` describes; not where they are `ignored`. Adds the labels seen to
/// `seen`.
void draw_labels(cv::Mat& picture, const LabelImage& mask, const ImageInfo& image,
                 std::uint8_t ignored, std::set<std::size_t>& seen);

}  // namespace packhorse::inspect
