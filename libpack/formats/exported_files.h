#pragma once

#include <filesystem>
#include <vector>

#include "packhorse/dataset/manifest.h"

namespace packhorse {

/// Writes the indexes for other people's readers beside shards that were just packed, and returns
/// what is to be published: shard by shard, then those of the whole dataset. Nothing for a format
/// that has none, and for compressed shards. `manifest` must be complete but for its files.
std::vector<FileRecord> publish_exported_files(const std::filesystem::path& directory,
                                               const Manifest& manifest, int jobs);

}  // namespace packhorse
