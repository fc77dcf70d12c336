#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "packhorse/base/progress.h"
#include "packhorse/dataset/packed_dataset.h"

/// Mean, std and class counts of a dataset, for training.
///
///     DatasetStats stats = measure_stats(PackedDataset("packed/train"), {.images = 5000});
namespace packhorse {

struct StatsOptions {
  std::uint64_t images = 0;  ///< number of images to look at, at most; 0 = all
  std::uint64_t seed = 0;    ///< decides which images
  int jobs = 0;              ///< threads; 0 = as many as the process may use
  ImageLimits limits = {};   ///< an image beyond them counts as one that cannot be decoded
  /// Measure the samples as they are stored (codecs/band_rows.h) instead of colours. All images
  /// must have the same bands.
  bool bands = false;
};

/// Values for red, green and blue, in [0, 1]; or for each band.
struct ChannelStats {
  std::vector<double> mean, deviation;  ///< the std divides by n, not by n - 1
};

struct DatasetStats {
  std::uint64_t images = 0, pixels = 0;  ///< that were looked at
  /// Every pixel counts the same, so large images count more.
  ChannelStats by_pixel;
  /// Every image counts the same: the mean of the images' means; the std uses the mean of their
  /// mean squares.
  ChannelStats by_image;
};

/// Decodes whole images as they are stored, without resizing or cropping: grey counts as R = G = B,
/// alpha is flattened onto black, 16 bits are scaled to 8; bands are taken as they are stored. Sums
/// are computed per image, and then added in stored order, so the result does not depend on the
/// number of threads. Memory: one image per thread, and one word for each image of a subset. Throws
/// Error(kCorrupt | kUnsupported) naming shard and key for an image that is damaged or cannot be
/// decoded, Error(kInterrupted).
DatasetStats measure_stats(const PackedDataset& dataset, const StatsOptions& options,
                           Progress* progress = nullptr, std::stop_token stop = {});

/// Class weights for a loss, from the numbers of samples: 1 / n^power, scaled so that the mean over
/// the classes that have samples is 1. `power` 1 is inverse frequency; 0.5 is its square root,
/// which is gentler. A class without samples has weight 0.
std::vector<double> class_weights(const std::vector<std::uint64_t>& class_samples, double power);

}  // namespace packhorse
