#pragma once

#include <string>
#include <vector>

#include "adopting/named_shards.h"
#include "adopting/scan_shard.h"
#include "packhorse/adopting/adopt.h"

namespace packhorse {

/// What is known only when all shards are scanned.
struct MergedShards {
  std::vector<std::string> classes;
  std::vector<std::string> fields;                ///< of all shards, sorted
  std::string labels_from;                        ///< as Adoption::labels
  bool qualified_keys = false;                    ///< keys repeat across shards
  std::vector<std::vector<std::int32_t>> labels;  ///< by shard and row; -1: rejected
  std::vector<std::uint64_t> first_samples;       ///< by shard
  std::uint64_t rejected = 0;                     ///< rows without a label
  std::vector<std::string> notes;
};

/// Labels come from a file if there is one, otherwise from the shards; when no shard has labels,
/// all samples are of one class. Rows without a label are added to `rejects`. Throws Error(kUsage).
MergedShards merge_shards(const NamedShards& named, const std::vector<ScannedShard>& scanned,
                          const AdoptOptions& options, std::vector<Reject>& rejects);

/// Returns the index of a shard, serialised.
std::string index_of(const ScannedShard& shard, std::size_t number, const MergedShards& merged,
                     const std::string& name);

}  // namespace packhorse
