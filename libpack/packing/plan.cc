#include "packhorse/packing/plan.h"

#include <algorithm>
#include <limits>

#include "packhorse/base/error.h"
#include "packhorse/base/permutation.h"

namespace packhorse {

Plan::Plan(const EntryTable& entries, const PlanOptions& options) {
  const std::size_t n = entries.size();
  if (n > 999'999'999) {
    throw Error(ErrorKind::kUnsupported, "one split holds more than 999,999,999 images", {},
                "pack it in parts");
  }
  order_.reserve(n);
  const Permutation permutation(n, options.seed);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    order_.push_back(static_cast<std::uint32_t>(options.shuffle ? permutation(i) : i));
    total += entries.size_of(i);
  }
  begins_.push_back(0);
  if (options.shard_samples > 0) {
    for (std::size_t i = options.shard_samples; i < n; i += options.shard_samples)
      begins_.push_back(i);
  } else if (options.shard_bytes > 0 && total > options.shard_bytes) {
    const std::uint64_t shards = (total + options.shard_bytes - 1) / options.shard_bytes;
    const double share = static_cast<double>(total) / static_cast<double>(shards);
    std::uint64_t running = 0;
    for (std::size_t i = 0; i < n; ++i) {
      running += entries.size_of(order_[i]);
      const bool full = static_cast<double>(running) >= share * static_cast<double>(begins_.size());
      if (full && i + 1 < n && begins_.size() < shards) begins_.push_back(i + 1);
    }
  }
  if (n > 0) begins_.push_back(n);
}

}  // namespace packhorse
