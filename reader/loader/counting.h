#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace packhorse::reader {

inline std::uint64_t ns_between(std::chrono::steady_clock::time_point begin,
                                std::chrono::steady_clock::time_point end) {
  return static_cast<std::uint64_t>((end - begin) / std::chrono::nanoseconds(1));
}

inline std::uint64_t ns_since(std::chrono::steady_clock::time_point begin) {
  return ns_between(begin, std::chrono::steady_clock::now());
}

/// Adds to a counter that only the caller writes, so no read-modify-write is needed.
inline void add(std::atomic<std::uint64_t>& counter, std::uint64_t value) {
  counter.store(counter.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

}  // namespace packhorse::reader
