#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>

namespace packhorse {

/// Bounds what all remote files of a process keep in memory, and what they have asked for ahead.
/// Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t most) : most_(most) {}
  /// Before bytes are asked for ahead. False when as much as may be is on its way already, unless
  /// nothing is.
  bool begin(std::uint64_t bytes);
  /// They have arrived, or will not.
  void end(std::uint64_t bytes);
  /// Counts a piece that is kept: the oldest ones go to make room. `drop`, which must not throw, is
  /// called once it has to go, in a thread that brings another. A piece that is larger than the
  /// budget stays until then, too.
  void add(std::uint64_t bytes, std::function<void()> drop);

 private:
  struct Held {
    std::uint64_t bytes;
    std::function<void()> drop;
  };
  const std::uint64_t most_;
  std::mutex mutex_;
  std::list<Held> held_;
  std::uint64_t sum_ = 0;
  std::uint64_t ahead_ = 0;  ///< on its way
};

}  // namespace packhorse
