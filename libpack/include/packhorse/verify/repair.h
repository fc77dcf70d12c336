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

/// Replaces the files of `dataset` that are not as its manifest says: shards, indexes (also those
/// for other people's readers), class list, list of rejects, SHA256SUMS. `from` is the source it
/// was packed from, or a copy of the dataset (or of the directory of its splits), whose sound files
/// are taken as they are.
///
/// A shard is a function of source and options, so it is packed again, in the staging directory of
/// `dataset`; what comes of it must have the SHA-256 that the manifest says. Only when all files
/// are there is the first one replaced, each in one rename. Else nothing has changed:
/// Error(kCorrupt) says what came out otherwise. Of `options` those count that the manifest does
/// not record, as for compare_with_source(). A manifest that cannot be read, or that SHA256SUMS
/// contradicts, cannot be repaired: Error(kCorrupt). Throws as packing does.
RepairReport repair(const std::filesystem::path& dataset, const std::filesystem::path& from,
                    const PackOptions& options, Progress* progress = nullptr,
                    std::stop_token stop = {});

}  // namespace packhorse
