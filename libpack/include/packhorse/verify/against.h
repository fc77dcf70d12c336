#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "packhorse/packing/pack.h"
#include "packhorse/verify/verify.h"

namespace packhorse {

struct AgainstReport {
  std::uint64_t compared = 0;  ///< inputs of the source that were read
  std::uint64_t bytes = 0;     ///< bytes of these inputs
  std::uint64_t rejected = 0;  ///< inputs listed in rejects.jsonl, and in no dataset
  std::vector<std::string> notes;
  /// Sorted by dataset, then path; see Finding::kind. With several datasets, paths and shards begin
  /// with the dataset's name.
  std::vector<Finding> findings;
};

/// Compares datasets (one, or all splits of one source) with the source they were packed from, in
/// both directions. Every input is read, checked and transformed again, and the result must have
/// the hash, the fields and the class that the index records. Whether the shards hold what their
/// indexes say is for verify() to check.
///
/// Uses only the `options` that the manifest does not record: source_kind, list, select, limits,
/// decode; and jobs. Throws Error as packing does, Error(kUsage) when the manifest shows that an
/// option is missing, Error(kCorrupt) for a dataset whose indexes cannot be used.
AgainstReport compare_with_source(const std::vector<std::filesystem::path>& datasets,
                                  const std::filesystem::path& source, const PackOptions& options,
                                  Progress* progress = nullptr, std::stop_token stop = {});

}  // namespace packhorse
