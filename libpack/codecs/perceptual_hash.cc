#include "codecs/perceptual_hash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <mutex>
#include <numbers>
#include <span>

#include "base/parallel.h"
#include "base/stop.h"
#include "image/picture.h"

namespace packhorse {

namespace {

constexpr std::size_t kSide = kThumbnailSide;
constexpr std::size_t kFrequencies = 8;
constexpr double kLeastDeviation = 2;  // of brightness, 0 to 255; below it there is nothing to see

using Thumbnail = std::array<double, kSide * kSide>;

/// Divides `in` pixels among 32 cells: (cell, pixel, weight) triples, in the order of cells.
class Cells {
 public:
  /// `extent` <= `in`: how many pixels are picture; the last may be so only in part.
  Cells(int in, double extent) {
    const double scale = extent / static_cast<double>(kSide);
    for (std::size_t cell = 0; cell < kSide; ++cell) {
      const double begin = static_cast<double>(cell) * scale, end = begin + scale;
      for (int pixel = static_cast<int>(begin); pixel < in && pixel < end; ++pixel) {
        const double share =
            std::min(end, pixel + 1.0) - std::max(begin, static_cast<double>(pixel));
        if (share > 0) shares_.push_back({cell, static_cast<std::size_t>(pixel), share / scale});
      }
    }
  }
  struct Share {
    std::size_t cell, pixel;
    double weight;
  };
  const std::vector<Share>& shares() const { return shares_; }

 private:
  std::vector<Share> shares_;
};

/// The mean brightness of each of the 32 x 32 cells of the picture as stored.
Thumbnail thumbnail_of(ColourRows& rows, const ImageInfo& image) {
  Thumbnail thumbnail{};
  const Cells columns(rows.width, image.width * rows.samples_per_pixel);
  const Cells lines(rows.height, image.height * rows.samples_per_pixel);
  std::vector<double> brightness(static_cast<std::size_t>(rows.width));
  std::array<double, kSide> line{};
  // A cell of a large picture takes several rows; a row of a small one goes into several cells.
  std::vector<Cells::Share> by_row(lines.shares());
  std::ranges::stable_sort(by_row, [](const auto& a, const auto& b) { return a.pixel < b.pixel; });
  auto share = by_row.begin();
  for (std::size_t y = 0; y < static_cast<std::size_t>(rows.height); ++y) {
    const std::uint8_t* row = rows.next_row();
    for (std::size_t x = 0; x < brightness.size(); ++x) {
      brightness[x] = rows.channels == 1
                          ? row[x]
                          : 0.299 * row[3 * x] + 0.587 * row[3 * x + 1] + 0.114 * row[3 * x + 2];
    }
    line.fill(0);
    for (const Cells::Share& part : columns.shares())
      line[part.cell] += brightness[part.pixel] * part.weight;
    for (; share != by_row.end() && share->pixel == y; ++share) {
      for (std::size_t x = 0; x < kSide; ++x)
        thumbnail[share->cell * kSide + x] += line[x] * share->weight;
    }
  }
  return thumbnail;
}

Thumbnail turned_upright(const Thumbnail& in, int orientation) {
  const Turn turn(orientation);
  if (!turn.any()) return in;
  Thumbnail out{};
  for (std::size_t y = 0; y < kSide; ++y) {
    for (std::size_t x = 0; x < kSide; ++x) {
      const std::size_t column = turn.swap ? y : x, line = turn.swap ? x : y;
      out[y * kSide + x] = in[(turn.flip_y ? kSide - 1 - line : line) * kSide +
                              (turn.flip_x ? kSide - 1 - column : column)];
    }
  }
  return out;
}

bool is_featureless(const Thumbnail& thumbnail) {
  double sum = 0, squares = 0;
  for (const double value : thumbnail) {
    sum += value;
    squares += value * value;
  }
  constexpr double kPixels = kSide * kSide;
  const double mean = sum / kPixels;
  return squares / kPixels - mean * mean < kLeastDeviation * kLeastDeviation;
}

/// cos((2x + 1) u pi / 64) for the frequencies u = 1 .. 8.
const auto& cosines() {
  static const auto table = [] {
    std::array<std::array<double, kSide>, kFrequencies> values{};
    for (std::size_t u = 0; u < kFrequencies; ++u) {
      for (std::size_t x = 0; x < kSide; ++x) {
        values[u][x] = std::cos((2.0 * static_cast<double>(x) + 1) * static_cast<double>(u + 1) *
                                std::numbers::pi / (2.0 * kSide));
      }
    }
    return values;
  }();
  return table;
}

std::array<double, 64> low_frequencies(const Thumbnail& thumbnail) {
  std::array<std::array<double, kFrequencies>, kSide> lines{};
  for (std::size_t y = 0; y < kSide; ++y) {
    for (std::size_t u = 0; u < kFrequencies; ++u) {
      for (std::size_t x = 0; x < kSide; ++x)
        lines[y][u] += thumbnail[y * kSide + x] * cosines()[u][x];
    }
  }
  std::array<double, 64> found{};
  for (std::size_t v = 0; v < kFrequencies; ++v) {
    for (std::size_t u = 0; u < kFrequencies; ++u) {
      for (std::size_t y = 0; y < kSide; ++y)
        found[v * kFrequencies + u] += lines[y][u] * cosines()[v][y];
    }
  }
  return found;
}

std::optional<std::uint64_t> hash_of(const Thumbnail& thumbnail) {
  if (is_featureless(thumbnail)) return std::nullopt;
  const std::array<double, 64> values = low_frequencies(thumbnail);
  std::array<double, 64> sorted = values;
  std::ranges::sort(sorted);
  const double median = (sorted[31] + sorted[32]) / 2;
  std::uint64_t hash = 0;
  for (const double value : values) hash = hash << 1 | (value > median ? 1u : 0u);
  return hash;
}

/// How much the brightness changes at each cell.
Thumbnail steepness_of(const Thumbnail& thumbnail) {
  Thumbnail steepness{};
  const auto at = [&](std::size_t x, std::size_t y) {
    return thumbnail[std::min(y, kSide - 1) * kSide + std::min(x, kSide - 1)];
  };
  for (std::size_t y = 0; y < kSide; ++y)
    for (std::size_t x = 0; x < kSide; ++x)
      steepness[y * kSide + x] = std::hypot(at(x + 1, y) - at(x > 0 ? x - 1 : 0, y),
                                            at(x, y + 1) - at(x, y > 0 ? y - 1 : 0));
  return steepness;
}

/// One of the four bands of 16 bits, with the hashes sorted by their value in it.
class Band {
 public:
  Band(const std::vector<std::uint64_t>& hashes, int shift)
      : shift_(shift), begins_((1u << 16) + 1) {
    for (const std::uint64_t hash : hashes) ++begins_[value(hash) + 1];
    for (std::size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
    order_.resize(hashes.size());
    std::vector<std::uint32_t> next(begins_.begin(), begins_.end() - 1);
    for (std::uint32_t i = 0; i < hashes.size(); ++i) order_[next[value(hashes[i])]++] = i;
  }
  std::uint32_t value(std::uint64_t hash) const {
    return static_cast<std::uint32_t>(hash >> shift_) & 0xffffu;
  }
  std::span<const std::uint32_t> with(std::uint32_t value) const {
    return std::span(order_).subspan(begins_[value], begins_[value + 1] - begins_[value]);
  }

 private:
  int shift_;
  std::vector<std::uint32_t> begins_;  ///< where each value begins in order_
  std::vector<std::uint32_t> order_;
};

}  // namespace

std::optional<std::uint64_t> perceptual_hash(ColourRows& rows, const ImageInfo& image) {
  return hash_of(turned_upright(thumbnail_of(rows, image), image.orientation));
}

std::optional<PictureHashes> picture_hashes(ColourRows& rows, const ImageInfo& image) {
  const Thumbnail thumbnail = turned_upright(thumbnail_of(rows, image), image.orientation);
  const auto brightness = hash_of(thumbnail), steepness = hash_of(steepness_of(thumbnail));
  if (!brightness || !steepness) return std::nullopt;
  return PictureHashes{*brightness, *steepness};
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> near_pairs(
    const std::vector<std::uint64_t>& hashes, int max_distance, int jobs) {
  const std::array<Band, 4> bands = {Band(hashes, 0), Band(hashes, 16), Band(hashes, 32),
                                     Band(hashes, 48)};
  std::vector<std::uint32_t> flips = {0};  // at most 3 bits in 4 bands: one band agrees in all
  for (std::uint32_t bit = 0; bit < 16 && max_distance > 3; ++bit) flips.push_back(1u << bit);
  std::mutex mutex;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  run_batches(jobs, hashes.size(), 4096, [&](std::size_t begin, std::size_t end) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
    for (std::size_t i = begin; i < end; ++i) {
      obey_stop();
      for (const Band& band : bands) {
        for (const std::uint32_t flip : flips) {
          for (const std::uint32_t j : band.with(band.value(hashes[i]) ^ flip)) {
            if (j > i && std::popcount(hashes[i] ^ hashes[j]) <= max_distance)
              found.emplace_back(static_cast<std::uint32_t>(i), j);
          }
        }
      }
    }
    const std::scoped_lock lock(mutex);
    pairs.insert(pairs.end(), found.begin(), found.end());
  });
  std::ranges::sort(pairs);
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

}  // namespace packhorse
