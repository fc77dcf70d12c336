#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

/// Indexes for other people's readers, where a format has such readers: for tar shards, those of
/// DALI, wids and timm. Packing publishes them with the dataset; this makes them again, or for
/// shards that came without them.
///
///     ExportedIndexReport report = export_indexes("packed/train", {}, {});
namespace packhorse {

struct ExportedIndexOptions {
  std::string dali_version = "1.2";  ///< of DALI's index of a tar: "1.1" (no names) or "1.2"
};

struct ExportedIndexReport {
  std::vector<std::string> written;    ///< files, relative to where they were written
  std::vector<std::string> unchanged;  ///< those that were there with the same bytes
  std::uint64_t bytes = 0;             ///< of all files together
};

/// Writes them into the directory `out`, or beside the shards when it is empty. No payload is read.
/// Memory: one shard's index for each thread. `jobs` 0: as many threads as the process may use.
///
/// Throws Error: kUsage when the format has none, or for an unknown version; kUnsupported for
/// compressed shards, in which no reader can find members by an offset; kExists when the dataset
/// has published such a file with other bytes; kCorrupt when a shard holds other samples than its
/// index.
ExportedIndexReport export_indexes(const std::filesystem::path& dataset,
                                   const std::filesystem::path& out,
                                   const ExportedIndexOptions& options, int jobs = 0);

}  // namespace packhorse
