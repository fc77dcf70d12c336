#include "packhorse/analysis/dataset_stats.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/stored_pixels.h"
#include "base/parallel.h"
#include "packhorse/base/error.h"
#include "packhorse/base/permutation.h"
#include "packhorse/base/resources.h"

namespace packhorse {

namespace {

constexpr std::size_t kBatch = 64;  // images; fixed, as sums of fractions depend on it

/// How often each value occurs in each channel; exact in any order.
using Histogram = std::array<std::array<std::uint32_t, 256>, 3>;

struct Sums {
  std::uint64_t pixels = 0;
  std::array<std::uint64_t, 3> values{}, squares{};
};

Sums sums_of(const Histogram& histogram, int channels, std::uint64_t pixels) {
  Sums sums;
  sums.pixels = pixels;
  for (std::size_t c = 0; c < 3; ++c) {
    const auto& counts = histogram[channels == 1 ? 0 : c];
    for (std::uint64_t value = 0; value < counts.size(); ++value) {
      sums.values[c] += counts[value] * value;
      sums.squares[c] += counts[value] * value * value;
    }
  }
  return sums;
}

Sums sums_of_image(RowSource& rows) {
  Histogram histogram{};
  for (int y = 0; y < rows.height; ++y) {
    const std::uint8_t* row = rows.next_row();
    if (rows.channels == 1) {
      for (int x = 0; x < rows.width; ++x) ++histogram[0][row[x]];
    } else {
      for (int x = 0; x < rows.width; ++x, row += 3) {
        for (std::size_t c = 0; c < 3; ++c) ++histogram[c][row[c]];
      }
    }
  }
  return sums_of(histogram, rows.channels,
                 static_cast<std::uint64_t>(rows.width) * static_cast<std::uint64_t>(rows.height));
}

/// The sums over some of the images.
struct Total {
  std::uint64_t images = 0;
  Sums sums;
  std::array<double, 3> means{}, mean_squares{};  ///< per image, added up; values 0 to 255

  void add(const Sums& image) {
    ++images;
    sums.pixels += image.pixels;
    const auto pixels = static_cast<double>(image.pixels);
    for (std::size_t c = 0; c < 3; ++c) {
      sums.values[c] += image.values[c];
      sums.squares[c] += image.squares[c];
      means[c] += static_cast<double>(image.values[c]) / pixels;
      mean_squares[c] += static_cast<double>(image.squares[c]) / pixels;
    }
  }

  void add(const Total& other) {
    images += other.images;
    sums.pixels += other.sums.pixels;
    for (std::size_t c = 0; c < 3; ++c) {
      sums.values[c] += other.sums.values[c];
      sums.squares[c] += other.sums.squares[c];
      means[c] += other.means[c];
      mean_squares[c] += other.mean_squares[c];
    }
  }
};

void set_channel(ChannelStats& stats, std::size_t c, double sum, double squares, double n) {
  const double mean = sum / n;
  stats.mean[c] = mean / 255;
  stats.deviation[c] = std::sqrt(std::max(0.0, squares / n - mean * mean)) / 255;
}

/// The samples to look at, in stored order; nothing means all of them.
std::optional<std::vector<std::size_t>> subset(const PackedDataset& dataset,
                                               const StatsOptions& options) {
  if (options.images == 0 || options.images >= dataset.size()) return std::nullopt;
  const Permutation order(dataset.size(), options.seed);
  std::vector<std::size_t> chosen(options.images);
  for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = order(i);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace

DatasetStats measure_stats(const PackedDataset& dataset, const StatsOptions& options,
                           Progress* progress, std::stop_token stop) {
  Progress unseen;
  if (progress == nullptr) progress = &unseen;
  const std::optional<std::vector<std::size_t>> chosen = subset(dataset, options);
  const std::size_t images = chosen ? chosen->size() : dataset.size();
  progress->total_samples += images;
  std::vector<Total> batches((images + kBatch - 1) / kBatch);
  run_batches(options.jobs > 0 ? options.jobs : available_cpus(), images, kBatch,
              [&](std::size_t begin, std::size_t end) {
                std::vector<std::byte> bytes;
                for (std::size_t i = begin; i < end; ++i) {
                  if (stop.stop_requested())
                    throw Error(ErrorKind::kInterrupted, "stopped on request");
                  decode_stored(dataset, chosen ? (*chosen)[i] : i, bytes, /*least_side=*/0,
                                options.limits, [&](RowSource& rows, const ImageInfo&) {
                                  batches[begin / kBatch].add(sums_of_image(rows));
                                });
                  ++progress->samples;
                  progress->bytes += bytes.size();
                }
              });
  Total total;
  for (const Total& batch : batches) total.add(batch);
  DatasetStats stats;
  stats.images = total.images;
  stats.pixels = total.sums.pixels;
  if (total.images == 0) return stats;
  for (std::size_t c = 0; c < 3; ++c) {
    set_channel(stats.by_pixel, c, static_cast<double>(total.sums.values[c]),
                static_cast<double>(total.sums.squares[c]), static_cast<double>(stats.pixels));
    set_channel(stats.by_image, c, total.means[c], total.mean_squares[c],
                static_cast<double>(stats.images));
  }
  return stats;
}

std::vector<double> class_weights(const std::vector<std::uint64_t>& class_samples, double power) {
  std::vector<double> weights;
  double sum = 0;
  std::size_t classes = 0;
  for (const std::uint64_t samples : class_samples) {
    weights.push_back(samples == 0 ? 0 : std::pow(static_cast<double>(samples), -power));
    sum += weights.back();
    classes += samples > 0 ? 1 : 0;
  }
  for (double& weight : weights) weight *= static_cast<double>(classes) / sum;
  return weights;
}

}  // namespace packhorse
