#include "packhorse/analysis/summary.h"

#include <algorithm>
#include <array>

#include "dataset/shard_index.h"

namespace packhorse {

namespace {

struct Shape {
  std::string_view name;
  double ratio;  ///< width / height
};

// Common shapes of screens, cameras and prints. An image belongs to the one whose ratio is nearest,
// by factor.
constexpr std::array kShapes = {Shape{"1:3 or taller", 1.0 / 3},
                                Shape{"1:2", 0.5},
                                Shape{"9:16", 9.0 / 16},
                                Shape{"2:3", 2.0 / 3},
                                Shape{"3:4", 0.75},
                                Shape{"4:5", 0.8},
                                Shape{"1:1", 1},
                                Shape{"5:4", 1.25},
                                Shape{"4:3", 4.0 / 3},
                                Shape{"3:2", 1.5},
                                Shape{"16:9", 16.0 / 9},
                                Shape{"2:1", 2},
                                Shape{"3:1 or wider", 3}};

/// Counts by kind and channels, as the index stores them; they become names and maps at the end.
struct Counts {
  std::array<std::uint64_t, 256> kinds{}, components{};
};

void add_image(const ImageInfo& image, Summary& summary, Counts& counts) {
  ++counts.kinds[static_cast<std::uint8_t>(image.kind)];
  ++counts.components[image.components];
  if (image.orientation > 1) ++summary.turned;
  const std::uint32_t width = image.upright_width(), height = image.upright_height();
  summary.width.add(width);
  summary.height.add(height);
  summary.short_side.add(std::min(width, height));
  ++summary.shapes[shape_of(width, height)].count;
}

ClassBalance balance_of(const std::vector<std::uint64_t>& samples) {
  ClassBalance balance;
  std::vector<std::uint64_t> filled;
  for (std::size_t label = 0; label < samples.size(); ++label) {
    const std::uint64_t n = samples[label];
    if (n == 0) {
      ++balance.empty;
      continue;
    }
    if (filled.empty() || n < balance.least) {
      balance.least = n;
      balance.smallest = label;
    }
    if (n > balance.most) {
      balance.most = n;
      balance.largest = label;
    }
    filled.push_back(n);
  }
  if (filled.empty()) return balance;
  const auto middle = filled.begin() + static_cast<std::ptrdiff_t>(filled.size() / 2);
  std::nth_element(filled.begin(), middle, filled.end());
  balance.median = *middle;
  return balance;
}

/// "256MiB": the way --shard-bytes is typed.
std::string typed_bytes(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 5> kUnits = {"", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes != 0 && bytes % 1024 == 0 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return std::to_string(bytes) + std::string(kUnits[unit]);
}

}  // namespace

double ClassBalance::ratio() const {
  return least == 0 ? 0 : static_cast<double>(most) / static_cast<double>(least);
}

std::size_t shape_of(std::uint32_t width, std::uint32_t height) {
  const double ratio = static_cast<double>(width) / height;
  std::size_t shape = 0;
  while (shape + 1 < kShapes.size() &&
         ratio * ratio >= kShapes[shape].ratio * kShapes[shape + 1].ratio) {
    ++shape;
  }
  return shape;
}

Summary summarise(const PackedDataset& dataset) {
  Summary summary;
  Counts counts;
  for (const Shape& shape : kShapes) summary.shapes.push_back({shape.name, 0});
  summary.field_samples.resize(dataset.fields().size());
  summary.classes = balance_of(dataset.manifest().class_samples);
  for (std::size_t shard = 0; shard < dataset.shards(); ++shard) {
    const auto held = dataset.index(shard);
    const ShardIndex& index = *held;
    for (std::size_t row = 0; row < index.size(); ++row) {
      add_image(index.image(row), summary, counts);
      summary.bytes.add(index.range(row).length);
      for (std::size_t field = 0; field < summary.field_samples.size(); ++field)
        if (index.has_field(row, field)) ++summary.field_samples[field];
    }
  }
  for (std::size_t i = 0; i < counts.kinds.size(); ++i) {
    if (counts.kinds[i] > 0)
      summary.kinds[std::string(name_of(static_cast<ImageKind>(i)))] += counts.kinds[i];
    if (counts.components[i] > 0) summary.components[static_cast<int>(i)] = counts.components[i];
  }
  return summary;
}

std::vector<std::pair<std::string, std::string>> recorded_options(const Manifest& manifest) {
  if (manifest.adopted) return {};
  std::vector<std::pair<std::string, std::string>> options = {{"format", manifest.format},
                                                              {"image", manifest.image}};
  // Settings read "short_side=256 quality=90" and are named like their options.
  const std::string& settings = manifest.image_settings;
  for (std::size_t at = 0; at < settings.size();) {
    const std::size_t end = std::min(settings.find(' ', at), settings.size());
    const std::size_t equals = std::min(settings.find('=', at), end);
    const std::size_t value = std::min(equals + 1, end);
    options.emplace_back(settings.substr(at, equals - at), settings.substr(value, end - value));
    at = end + 1;
  }
  if (!manifest.compress.empty()) options.emplace_back("compress", manifest.compress);
  if (manifest.shard_samples > 0)
    options.emplace_back("shard_samples", std::to_string(manifest.shard_samples));
  else
    options.emplace_back("shard_bytes",
                         manifest.shard_bytes == 0 ? "none" : typed_bytes(manifest.shard_bytes));
  if (manifest.shuffle)
    options.emplace_back("seed", std::to_string(manifest.seed));
  else
    options.emplace_back("shuffle", "false");
  return options;
}

}  // namespace packhorse
