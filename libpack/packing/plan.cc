#include "packing/plan.h"

namespace packhorse {

Plan::Plan(const EntryTable& entries, const PlanOptions& options)
    : Plan(
          entries.size(), [&](std::size_t i) { return entries.size_of(i); }, options) {}

Plan::Plan(std::size_t samples, const std::function<std::uint64_t(std::size_t)>& size_of,
           const PlanOptions& options)
    : shuffled_(options.shuffle), order_(samples, options.seed) {
  begins_.push_back(0);
  if (options.shard_samples > 0) {
    for (std::size_t i = options.shard_samples; i < samples; i += options.shard_samples)
      begins_.push_back(i);
  } else if (options.shard_bytes > 0) {
    cut_by_bytes(size_of, options.shard_bytes);
  }
  if (samples > 0) begins_.push_back(samples);
}

void Plan::cut_by_bytes(const std::function<std::uint64_t(std::size_t)>& size_of,
                        std::uint64_t shard_bytes) {
  const std::size_t n = size();
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < n; ++i) total += size_of(i);
  if (total <= shard_bytes) return;
  const std::uint64_t shards = (total + shard_bytes - 1) / shard_bytes;
  const double share = static_cast<double>(total) / static_cast<double>(shards);
  std::uint64_t running = 0;
  for (std::size_t i = 0; i < n; ++i) {
    running += size_of(entry(i));
    const bool full = static_cast<double>(running) >= share * static_cast<double>(begins_.size());
    if (full && i + 1 < n && begins_.size() < shards) begins_.push_back(i + 1);
  }
}

}  // namespace packhorse
