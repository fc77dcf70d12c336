#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "packhorse/packing/pack.h"

namespace packhorse {

struct RepairReport {
  std::vector<std::string> copied;   ///< files taken from a copy, relative to the dataset
  std::vector<std::string> rebuilt;  ///< files made again from the source
};

/// Replaces the files of `dataset` that are not as its manifest describes them: shards, indexes
/// (including those for other readers), class list, list of rejects, SHA256SUMS. `from` is the
/// source it was packed from, or a copy of the dataset (or of the directory of its splits), whose
/// intact files are taken as they are.
///
/// A shard is a function of source and options, so it is packed again in the staging directory of
/// `dataset`; the result must have the SHA-256 in the manifest. The first file is replaced only
/// when all are ready, each in one rename. Otherwise nothing has changed, and Error(kCorrupt) says
/// which file came out differently. Uses only the `options` that the manifest does not record, as
/// compare_with_source() does. A manifest that cannot be read, or that SHA256SUMS contradicts,
/// cannot be repaired: Error(kCorrupt). Throws as packing does.
RepairReport repair(const std::filesystem::path& dataset, const std::filesystem::path& from,
                    const PackOptions& options, Progress* progress = nullptr,
                    std::stop_token stop = {});

}  // namespace packhorse
