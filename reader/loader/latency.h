#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "packhorse/reader/loader.h"

namespace packhorse::reader {

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
