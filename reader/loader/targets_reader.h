#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "packhorse/reader/dataset.h"
#include "packhorse/reader/targets.h"

namespace packhorse::reader {

/// Reads what a dataset's samples have besides their label; the dataset must outlive it.
/// Thread-safe.
class TargetsReader {
 public:
  /// Throws Error(kUsage) when the dataset has no targets, Error(kUnsupported) for one of a kind
  /// that this version does not know.
  explicit TargetsReader(const Dataset& dataset);

  bool has_objects() const { return objects_.has_value(); }
  bool has_masks() const { return mask_.has_value(); }
  std::size_t keypoints() const { return keypoints_; }  ///< of an object, as the dataset says
  /// The label of pixels that belong to no class, or to no picture.
  std::uint8_t ignored() const { return ignored_; }
  /// Those of a sample, in pixels of its stored picture, which `info` describes. `scratch` keeps
  /// memory between calls. Throws Error(kCorrupt), and what reading throws.
  StoredTargets read(std::uint64_t sample, const ImageInfo& info,
                     std::vector<std::byte>& scratch) const;

 private:
  struct Place {
    std::size_t field, classes;
  };
  Place place_of(const TargetRecord& target) const;
  bool read_field(const std::optional<Place>& place, std::uint64_t sample,
                  std::vector<std::byte>& scratch) const;

  const Dataset& dataset_;
  std::optional<Place> objects_, classes_, caption_, mask_;
  std::size_t keypoints_ = 0;
  std::uint8_t ignored_ = kIgnoredLabel;
};

}  // namespace packhorse::reader
