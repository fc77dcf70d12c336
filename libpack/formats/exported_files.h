#pragma once

#include <filesystem>
#include <vector>

#include "packhorse/dataset/manifest.h"

namespace packhorse {

/// Writes the indexes for other people's readers beside shards that were just packed, and returns
/// the files to publish: shard by shard, then those of the whole dataset. Writes none for a format
/// that has none, none for compressed shards, and none of single shards where
/// ExportedIndexes::why_not() speaks. `manifest` must be complete except for its files.
std::vector<FileRecord> publish_exported_files(const std::filesystem::path& directory,
                                               const Manifest& manifest, int jobs);

}  // namespace packhorse
