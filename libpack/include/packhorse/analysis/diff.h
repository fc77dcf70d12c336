#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// Finds what differs between two datasets. It reads only manifests, class lists and indexes, no
/// shards.
///
///     DatasetDiff diff = diff_datasets("packed-monday", "packed-tuesday");
///     if (!diff.equal()) ...
namespace packhorse {

/// A sample as a dataset's index describes it.
struct SampleRef {
  std::uint64_t sample = 0;  ///< number in the dataset
  std::string key, path, class_name;
  std::string shard;      ///< file
  std::uint64_t row = 0;  ///< place in it
};

/// A sample found in both datasets with something that differs.
struct SampleChange {
  SampleRef a, b;
  bool bytes = false;       ///< of the image
  bool fields = false;      ///< extra fields: which there are, or their bytes
  bool described = false;   ///< the image by its index: kind, size, channels, bits, orientation
  bool relabelled = false;  ///< its class has another name
  bool renamed = false;     ///< its source path differs
  bool rekeyed = false;
  bool moved = false;  ///< to another shard, or to another place in it
  /// Whether more than its place and its key differs.
  bool content() const { return bytes || fields || described || relabelled || renamed; }
};

struct DatasetDiff {
  struct Setting {
    std::string name, a, b;
  };
  struct Counts {
    std::uint64_t only_a = 0, only_b = 0, same = 0;  ///< same: found in both, whatever changed
    std::uint64_t bytes = 0, fields = 0, described = 0, relabelled = 0, renamed = 0, rekeyed = 0,
                  moved = 0;
  };
  std::string id_a, id_b;
  /// What differs between the manifests and the class lists, by name; arrays are shown by a hash.
  /// Empty only if the ids are equal.
  std::vector<Setting> settings;
  Counts counts;
  std::vector<SampleRef> only_a, only_b;
  /// Changes of content first, then samples that only moved; each in the order of A.
  std::vector<SampleChange> changes;
  bool equal() const { return id_a == id_b; }
};

/// Samples are matched by source path; the remaining ones by their bytes (XXH3 and length); the
/// remaining ones without a path by key. Each list holds at most `limit` entries (nothing: all);
/// counts always cover everything. Memory: a bit per sample, the lists, and up to `memory` for
/// sorting; the rest goes to an unnamed file in the system's directory for temporary files.
///
/// Throws Error(kNotFound) when either is not a dataset, Error(kCorrupt) when an index is damaged.
DatasetDiff diff_datasets(const std::filesystem::path& a, const std::filesystem::path& b,
                          std::optional<std::size_t> limit = {},
                          std::uint64_t memory = std::uint64_t{1} << 30);

}  // namespace packhorse
