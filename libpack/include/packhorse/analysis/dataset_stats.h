#pragma once

#include <array>
#include <cstdint>
#include <stop_token>
#include <vector>

#include "packhorse/base/progress.h"
#include "packhorse/dataset/packed_dataset.h"

/// What a trainer wants to know of a dataset's pixels and classes before it begins.
///
///     DatasetStats stats = measure_stats(PackedDataset("packed/train"), {.images = 5000});
namespace packhorse {

struct StatsOptions {
  std::uint64_t images = 0;  ///< of how many images, at most; 0 = all
  std::uint64_t seed = 0;    ///< decides which
  int jobs = 0;              ///< threads; 0 = as many as the process may use
  ImageLimits limits = {};   ///< an image beyond counts as one that cannot be decoded
};

/// Of red, green and blue, in [0, 1].
struct ChannelStats {
  std::array<double, 3> mean{}, deviation{};  ///< the deviation divides by n, not by n - 1
};

struct DatasetStats {
  std::uint64_t images = 0, pixels = 0;  ///< that were looked at
  /// Over all pixels of all images, each counting the same: large images count more.
  ChannelStats by_pixel;
  /// The same with each image counting the same, whatever its size: the mean over images of their
  /// mean; for the deviation, of their mean square.
  ChannelStats by_image;
};

/// Decodes whole images as they are stored, without resizing or cropping: grey counts as R = G = B,
/// alpha is flattened onto black, 16 bit is scaled to 8. Sums are exact for each image and added up
/// in stored order, so that the result depends on neither threads nor machine. Memory: one image a
/// thread, and a word for each image of a subset. Throws Error(kCorrupt | kUnsupported) naming
/// shard and key for an image that is damaged or cannot be decoded, Error(kInterrupted).
DatasetStats measure_stats(const PackedDataset& dataset, const StatsOptions& options,
                           Progress* progress = nullptr, std::stop_token stop = {});

/// Weights of classes for a loss, by their numbers of samples: 1 / n^power, scaled so that the mean
/// over the classes that have samples is 1. `power` 1: inverse frequency; 0.5: its square root,
/// which is gentler. A class without a sample has the weight 0.
std::vector<double> class_weights(const std::vector<std::uint64_t>& class_samples, double power);

}  // namespace packhorse
