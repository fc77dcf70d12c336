#pragma once

#include <atomic>
#include <cstdint>

namespace packhorse {

/// What a long-running call has done so far. Written by the library, read by anyone, at any time;
/// the library itself prints nothing.
struct Progress {
  std::atomic<std::uint64_t> total_samples{0};  ///< 0 until it is known
  std::atomic<std::uint64_t> samples{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> rejected{0};
  /// What is being done, if that is not the purpose of the whole call: a constant, or null.
  std::atomic<const char*> phase{nullptr};
};

}  // namespace packhorse
