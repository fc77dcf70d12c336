#pragma once

#include <cstdint>
#include <opencv2/core.hpp>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "packhorse/dataset/packed_dataset.h"
#include "shared/request.h"

/// Small pictures of samples, for contact sheets and reports.
namespace packhorse::inspect {

struct Tile {
  std::size_t sample = 0;
  std::string key;
  std::int64_t label = 0;
  cv::Mat picture;            ///< BGR, upright, its longer side at most what was asked for
  int width = 0, height = 0;  ///< pixels of the image itself, upright
  std::string damage;         ///< why there is no picture; empty when there is one
};

/// One tile for each sample, in their order; its longer side has `side` pixels, or is a whole
/// multiple of a smaller image's, so that its pixels stay what they are. Damage is told by the
/// tile. Of `request`, its threads and limits count. Throws Error(kInterrupted | kIo).
std::vector<Tile> make_tiles(const PackedDataset& dataset, std::span<const std::size_t> samples,
                             int side, const Request& request, const std::stop_token& stop);

/// As JPEG, or as the file name's extension says. Throws Error(kUsage) when that is no kind of
/// picture OpenCV writes.
std::vector<std::byte> encoded(const cv::Mat& picture, const std::string& extension = ".jpg");

}  // namespace packhorse::inspect
