#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace packhorse::reader {

/// A summary of a LatencyHistogram; zeros when it has seen nothing.
struct Latencies {
  std::uint64_t count = 0;
  std::uint64_t sum_ns = 0;
  std::uint64_t p50_ns = 0, p99_ns = 0;  ///< up to 13 % above the true value
  std::uint64_t max_ns = 0;
};

/// Durations, counted in buckets that are an eighth of a power of two wide (as HdrHistogram does),
/// so that a run of any length takes 4 KiB. Thread-safe, lock-free.
class LatencyHistogram {
 public:
  void add(std::uint64_t ns);
  Latencies summary() const;

 private:
  static constexpr std::size_t kBuckets = 512;
  std::array<std::atomic<std::uint64_t>, kBuckets> counts_{};
  std::atomic<std::uint64_t> sum_{0}, max_{0};
};

}  // namespace packhorse::reader
