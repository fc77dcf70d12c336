#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "packhorse/sources/source.h"

namespace packhorse {

struct PlanOptions {
  bool shuffle = true;
  std::uint64_t seed = 0;
  std::uint64_t shard_bytes = 256u << 20;  ///< target size, counting inputs; 0 = unlimited
  std::uint64_t shard_samples =
      0;  ///< exact number in each shard (the last has the rest); 0 = by bytes
};

/// Decides which sample goes into which shard: a pure function of (entries, options). Position p of
/// the plan is entry `entry(p)` of the listing; shard s holds the positions [shard_begin(s),
/// shard_begin(s + 1)).
///
/// By bytes, shards are made equal rather than full: there are n = ceil(total / shard_bytes)
/// shards, and each ends where the running total passes its share, so that no tiny last shard
/// unbalances readers. Memory: 4 bytes a sample, up to 2^32 samples.
class Plan {
 public:
  Plan(const EntryTable& entries, const PlanOptions& options);

  std::size_t size() const { return order_.size(); }
  std::size_t shards() const { return begins_.size() - 1; }
  std::size_t shard_begin(std::size_t shard) const { return begins_[shard]; }
  std::size_t entry(std::size_t position) const { return order_[position]; }

 private:
  std::vector<std::uint32_t> order_;
  std::vector<std::size_t> begins_;  ///< shards + 1 values
};

}  // namespace packhorse
