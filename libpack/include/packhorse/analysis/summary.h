#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "packhorse/analysis/value_counts.h"
#include "packhorse/dataset/packed_dataset.h"

/// Describes a dataset from its indexes alone: no image is read. A million samples take about 25
/// milliseconds.
///
///     const PackedDataset dataset("packed/train");
///     const Summary summary = summarise(dataset);
///     summary.short_side.median();
namespace packhorse {

/// How many images have a shape close to one of the common ones.
struct ShapeCount {
  std::string_view name;  ///< width : height, "4:3"
  std::uint64_t count = 0;
};

/// How evenly the samples are spread over the classes.
struct ClassBalance {
  std::size_t largest = 0, smallest = 0;  ///< labels; the first of equals; smallest has samples
  std::uint64_t most = 0, least = 0, median = 0;  ///< samples a class, over classes that have any
  std::size_t empty = 0;                          ///< classes without a sample
  /// `most` divided by `least`: 1 is balanced. 0 when there are no samples.
  double ratio() const;
};

struct Summary {
  std::map<std::string, std::uint64_t> kinds;  ///< images by name_of(kind)
  std::map<int, std::uint64_t> components;     ///< images by channels as stored
  std::uint64_t turned = 0;                    ///< images with an orientation other than 1
  ValueCounts width, height, short_side;       ///< pixels, upright
  ValueCounts bytes;                           ///< of an image
  std::vector<ShapeCount> shapes;              ///< from tall to wide, all of them
  std::vector<std::uint64_t> field_samples;    ///< samples with each field, by its place
  ClassBalance classes;
  /// Whether all images have the same width and height.
  bool one_size() const { return width.least() == width.most() && height.least() == height.most(); }
};

/// The common shape nearest to width : height, as an index into Summary::shapes. Neither may be 0.
std::size_t shape_of(std::uint32_t width, std::uint32_t height);

Summary summarise(const PackedDataset& dataset);

/// The options of packing that the manifest records, and their values, including those at their
/// defaults. What was selected from the source is not recorded. Empty when the shards
/// were adopted.
std::vector<std::pair<std::string, std::string>> recorded_options(const Manifest& manifest);

}  // namespace packhorse
