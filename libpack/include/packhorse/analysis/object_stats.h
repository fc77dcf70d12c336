#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "packhorse/analysis/value_counts.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/targets/objects.h"

/// Counts the objects in a dataset's images, from their fields alone: no image is decoded.
namespace packhorse {

/// The field that holds a dataset's objects.
struct ObjectsTarget {
  TargetRecord record;
  std::size_t field = 0;  ///< its place among the dataset's fields
};

/// Nothing when the dataset has none.
std::optional<ObjectsTarget> objects_target(const PackedDataset& dataset);

/// The objects of a sample, none if it lacks the field; `bytes` is a buffer. Throws
/// Error(kCorrupt), also for a label that has no class and a mask of another image, Error(kIo).
Objects read_objects(const PackedDataset& dataset, const ObjectsTarget& target, std::size_t sample,
                     std::vector<std::byte>& bytes);

struct ObjectStatsOptions {
  std::uint64_t images = 0;  ///< number of images to look at, at most; 0 = all
  std::uint64_t seed = 0;    ///< decides which images
  int jobs = 0;              ///< threads; 0 = as many as the process may use
};

/// How many images `inspect` looks at: each may cost an access to the storage.
inline constexpr std::uint64_t kObjectsGlance = 20'000;

struct ObjectStats {
  ObjectsTarget target;
  std::uint64_t images = 0;                  ///< that were looked at, without the damaged ones
  std::uint64_t damaged = 0;                 ///< images whose objects could not be read
  std::uint64_t objects = 0, empty = 0;      ///< objects in all; images that have none
  ValueCounts per_image;                     ///< objects
  std::vector<std::uint64_t> class_objects;  ///< by label
  /// Sizes by COCO's limits, 32 x 32 and 96 x 96 pixels. The area is the annotation's, else the
  /// mask's, else the box's.
  std::uint64_t small = 0, medium = 0, large = 0;
  ValueCounts sides;  ///< square roots of areas, in whole pixels, rounded down
  /// Objects with an outline, with a mask of run lengths, with a labelled keypoint.
  std::uint64_t with_polygons = 0, with_runs = 0, with_keypoints = 0;
  std::uint64_t crowds = 0, difficult = 0, truncated = 0, occluded = 0;

  void add(const Objects& one_image);
  /// Adds the counts of other images of the same dataset.
  void add(const ObjectStats& others);
};

/// Nothing when the dataset has no objects. The result does not depend on the threads. Throws
/// Error(kIo | kInterrupted).
std::optional<ObjectStats> count_objects(const PackedDataset& dataset,
                                         const ObjectStatsOptions& options,
                                         const std::stop_token& stop = {});

}  // namespace packhorse
