#pragma once

#include <string>
#include <vector>

#include "adopting/named_shards.h"
#include "adopting/scan_shard.h"
#include "packhorse/adopting/adopt.h"

namespace packhorse {

/// What can only be said when all shards are known.
struct MergedShards {
  std::vector<std::string> classes;
  std::vector<std::string> fields;                ///< of all shards, sorted
  std::string labels_from;                        ///< as Adoption::labels
  bool qualified_keys = false;                    ///< keys repeat across shards
  std::vector<std::vector<std::int32_t>> labels;  ///< of each row of each shard; -1: rejected
  std::vector<std::uint64_t> first_samples;       ///< of each shard
  std::uint64_t rejected = 0;                     ///< rows without a label
  std::vector<std::string> notes;
};

/// Labels come from a file when there is one, else from the shards; where none has any, all are of
/// one class. Rows that get none are added to `rejects`. Throws Error(kUsage).
MergedShards merge_shards(const NamedShards& named, const std::vector<ScannedShard>& scanned,
                          const AdoptOptions& options, std::vector<Reject>& rejects);

/// The text of a shard's index.
std::string index_of(const ScannedShard& shard, std::size_t number, const MergedShards& merged,
                     const std::string& name);

}  // namespace packhorse
