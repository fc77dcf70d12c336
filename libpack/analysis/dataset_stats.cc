#include "packhorse/analysis/dataset_stats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "analysis/stored_pixels.h"
#include "base/parallel.h"
#include "base/permutation.h"
#include "base/resources.h"
#include "base/stop.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::size_t kBatch = 64;  // images; fixed, as sums of fractions depend on it

/// Means of an image's values and of their squares, for each channel.
struct Moments {
  std::uint64_t pixels = 0;
  std::vector<double> means, squares;
  BandLayout layout = {};  ///< of colours none
};

std::uint64_t pixels_in(int width, int height) {
  return static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height);
}

/// How often each value occurs in each channel.
using Histogram = std::array<std::array<std::uint32_t, 256>, 3>;

Moments moments_of(const Histogram& histogram, int channels, std::uint64_t pixels) {
  Moments made{pixels, {}, {}};
  for (std::size_t c = 0; c < 3; ++c) {
    const auto& counts = histogram[channels == 1 ? 0 : c];
    std::uint64_t sum = 0, squares = 0;  // exact
    for (std::uint64_t value = 0; value < counts.size(); ++value) {
      sum += counts[value] * value;
      squares += counts[value] * value * value;
    }
    const auto n = static_cast<double>(pixels);
    made.means.push_back(static_cast<double>(sum) / n / 255);
    made.squares.push_back(static_cast<double>(squares) / n / (255 * 255));
  }
  return made;
}

Moments moments_of(ColourRows& rows) {
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
  return moments_of(histogram, rows.channels, pixels_in(rows.width, rows.height));
}

Moments moments_of(BandRows& rows) {
  const auto bands = static_cast<std::size_t>(rows.layout.bands);
  Moments made{pixels_in(rows.width, rows.height), std::vector<double>(bands),
               std::vector<double>(bands), rows.layout};
  std::vector<float> row(static_cast<std::size_t>(rows.width) * bands);
  for (int y = 0; y < rows.height; ++y) {
    rows.next_row(row.data());
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double value = row[i];
      made.means[i % bands] += value;
      made.squares[i % bands] += value * value;
    }
  }
  for (std::size_t c = 0; c < bands; ++c) {
    made.means[c] /= static_cast<double>(made.pixels);
    made.squares[c] /= static_cast<double>(made.pixels);
  }
  return made;
}

/// Sums of such means, each times its weight.
struct Weighted {
  double weight = 0;
  std::vector<double> means, squares;

  void add(const std::vector<double>& m, const std::vector<double>& s, double w, double by) {
    means.resize(m.size());
    squares.resize(m.size());
    for (std::size_t c = 0; c < m.size(); ++c) {
      means[c] += m[c] * by;
      squares[c] += s[c] * by;
    }
    weight += w;
  }

  ChannelStats stats() const {
    ChannelStats made;
    for (std::size_t c = 0; c < means.size(); ++c) {
      const double mean = means[c] / weight;
      made.mean.push_back(mean);
      const double variance = squares[c] / weight - mean * mean;
      made.deviation.push_back(variance < 0 ? 0 : std::sqrt(variance));  // NaN stays NaN
    }
    return made;
  }
};

/// Over some of the images.
struct Total {
  std::uint64_t images = 0, pixels = 0;
  Weighted by_pixel, by_image;
  BandLayout layout = {};

  void add(const Moments& image) {
    check(image.layout);
    ++images;
    pixels += image.pixels;
    const auto n = static_cast<double>(image.pixels);
    by_pixel.add(image.means, image.squares, n, n);
    by_image.add(image.means, image.squares, 1, 1);
  }

  void add(const Total& other) {
    check(other.layout);
    images += other.images;
    pixels += other.pixels;
    by_pixel.add(other.by_pixel.means, other.by_pixel.squares, other.by_pixel.weight, 1);
    by_image.add(other.by_image.means, other.by_image.squares, other.by_image.weight, 1);
  }

  void check(const BandLayout& other) {
    if (images == 0) layout = other;
    if (layout == other) return;
    throw Error(ErrorKind::kUsage,
                "its images differ in their bands or bits, so they have no means in common", {},
                "pack images of the same bands and bits by themselves");
  }
};

/// The samples to look at, in stored order; nothing means all of them.
std::optional<std::vector<std::size_t>> subset(const PackedDataset& dataset,
                                               const StatsOptions& options) {
  if (options.images == 0 || options.images >= dataset.size()) return std::nullopt;
  const Permutation order(dataset.size(), options.seed);
  std::vector<std::size_t> chosen(options.images);
  for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = order(i);
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace

DatasetStats measure_stats(const PackedDataset& dataset, const StatsOptions& options,
                           Progress* progress, std::stop_token stop) {
  const StopScope scope(std::move(stop));
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
                  obey_stop();
                  Total& batch = batches[begin / kBatch];
                  const std::size_t sample = chosen ? (*chosen)[i] : i;
                  if (options.bands) {
                    decode_stored_bands(dataset, sample, bytes, options.limits,
                                        [&](BandRows& rows) { batch.add(moments_of(rows)); });
                  } else {
                    decode_stored(
                        dataset, sample, bytes, /*least_side=*/0, options.limits,
                        [&](ColourRows& rows, const ImageInfo&) { batch.add(moments_of(rows)); });
                  }
                  ++progress->samples;
                  progress->bytes += bytes.size();
                }
              });
  Total total;
  for (const Total& batch : batches) total.add(batch);
  if (total.images == 0) return {0, 0, {{0, 0, 0}, {0, 0, 0}}, {{0, 0, 0}, {0, 0, 0}}};
  return {total.images, total.pixels, total.by_pixel.stats(), total.by_image.stats()};
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
