#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "packhorse/reader/dataset.h"
#include "packhorse/targets/objects.h"

namespace packhorse::reader {

/// Reads the objects of a dataset's samples, which must outlive it. Thread-safe.
class ObjectsReader {
 public:
  /// Throws Error(kUsage) when the dataset has no objects.
  explicit ObjectsReader(const Dataset& dataset);
  /// The objects of a sample, in pixels of its stored picture. `scratch` keeps memory between
  /// calls. Throws Error(kCorrupt), and what reading throws.
  Objects read(std::uint64_t sample, std::vector<std::byte>& scratch) const;
  std::size_t keypoints() const { return keypoints_; }  ///< of an object, as the dataset says

 private:
  const Dataset& dataset_;
  std::size_t field_, classes_, keypoints_;
};

}  // namespace packhorse::reader
