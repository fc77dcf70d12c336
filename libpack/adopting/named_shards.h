#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "formats/foreign_shard.h"
#include "packhorse/dataset/manifest.h"

namespace packhorse {

/// A shard to be adopted.
struct NamedShard {
  std::filesystem::path entry;  ///< what was named: the data file, or the directory around it
  std::string file;             ///< the data file, relative to the directory of `entry`
  std::string name() const { return entry.filename().native(); }
  std::filesystem::path data_file() const { return entry.parent_path() / file; }
};

/// The name of the shard's index file, beside the entry.
inline std::string index_name(const NamedShard& shard) {
  return shard.name() + std::string(kIndexSuffix);
}

struct NamedShards {
  const ForeignFormat* format = nullptr;
  std::vector<NamedShard> shards;  ///< by name, in byte order
};

/// The shards named by files, folders of shards and patterns, as absolute paths. Throws
/// Error(kNotFound) when one of these names no shard, Error(kUsage) for shards of several formats,
/// two of the same name, or a folder that holds several sets (train-0.tar beside val-0.tar).
NamedShards find_named_shards(const std::vector<std::filesystem::path>& named);

}  // namespace packhorse
