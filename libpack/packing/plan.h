#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/permutation.h"
#include "packhorse/packing/pack_options.h"
#include "sources/source.h"

namespace packhorse {

/// Decides which sample goes into which shard: a pure function of (entries, options). Position p of
/// the plan is entry `entry(p)` of the listing; shard s holds the positions [shard_begin(s),
/// shard_begin(s + 1)).
///
/// By bytes, shards are made equal rather than full: there are n = ceil(total / shard_bytes)
/// shards, and each ends where the running total passes its share, so that no tiny last shard
/// unbalances readers. Memory: 8 bytes a shard. entry() takes some tens of nanoseconds.
class Plan {
 public:
  Plan(const EntryTable& entries, const PlanOptions& options);
  /// The same for `samples` entries, of which entry i has `size_of(i)` bytes; asked only where
  /// shards are made by bytes.
  Plan(std::size_t samples, const std::function<std::uint64_t(std::size_t)>& size_of,
       const PlanOptions& options);

  std::size_t size() const { return order_.size(); }
  std::size_t shards() const { return begins_.size() - 1; }
  std::size_t shard_begin(std::size_t shard) const { return begins_[shard]; }
  std::size_t entry(std::size_t position) const { return shuffled_ ? order_(position) : position; }

 private:
  void cut_by_bytes(const std::function<std::uint64_t(std::size_t)>& size_of,
                    std::uint64_t shard_bytes);

  bool shuffled_;
  Permutation order_;
  std::vector<std::size_t> begins_;  ///< shards + 1 values
};

}  // namespace packhorse
