#include "loader/latency.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace packhorse::reader {

namespace {

constexpr int kParts = 8;  // buckets in a power of two
constexpr int kPartBits = 3;

/// Numbers below kParts have a bucket each; for others the three bits after the leading one decide.
std::size_t bucket_of(std::uint64_t ns) {
  if (ns < kParts) return ns;
  const int shift = static_cast<int>(std::bit_width(ns)) - 1 - kPartBits;
  return static_cast<std::size_t>(shift + 1) * kParts + ((ns >> shift) & (kParts - 1));
}

/// The largest number of a bucket.
std::uint64_t top_of(std::size_t bucket) {
  if (bucket < kParts) return bucket;
  const std::uint64_t shift = bucket / kParts - 1;
  return ((std::uint64_t{kParts} + bucket % kParts + 1) << shift) - 1;
}

}  // namespace

void LatencyHistogram::add(std::uint64_t ns) {
  counts_[bucket_of(ns)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(ns, std::memory_order_relaxed);
  std::uint64_t max = max_.load(std::memory_order_relaxed);
  while (max < ns && !max_.compare_exchange_weak(max, ns, std::memory_order_relaxed)) {
  }
}

Latencies LatencyHistogram::summary() const {
  std::array<std::uint64_t, kBuckets> counts{};
  Latencies all;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    counts[i] = counts_[i].load(std::memory_order_relaxed);
    all.count += counts[i];
  }
  all.sum_ns = sum_.load(std::memory_order_relaxed);
  all.max_ns = max_.load(std::memory_order_relaxed);
  const auto percentile = [&](double share) {
    const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(all.count)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      if ((seen += counts[i]) >= rank && seen > 0) return std::min(top_of(i), all.max_ns);
    }
    return std::uint64_t{0};
  };
  all.p50_ns = percentile(0.5);
  all.p99_ns = percentile(0.99);
  return all;
}

}  // namespace packhorse::reader
