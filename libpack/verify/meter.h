#pragma once

#include <atomic>
#include <cstdint>

#include "packhorse/base/progress.h"

namespace packhorse {

/// Progress of a check that looks at each sample several times: a sample counts when all its passes
/// are done. Thread-safe.
class Meter {
 public:
  Meter(Progress& progress, std::uint64_t passes) : progress_(progress), passes_(passes) {}
  Progress& progress() { return progress_; }
  /// Records that one pass over `samples` more samples is done.
  void add(std::uint64_t samples) {
    const std::uint64_t before = done_.fetch_add(samples);
    progress_.samples += (before + samples) / passes_ - before / passes_;
  }

 private:
  Progress& progress_;
  const std::uint64_t passes_;
  std::atomic<std::uint64_t> done_{0};
};

}  // namespace packhorse
