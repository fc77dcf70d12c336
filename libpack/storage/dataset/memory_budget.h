#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>

namespace packhorse {

/// Bounds what all remote files of a process keep in memory: as new pieces come, the oldest are
/// dropped. Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t most) : most_(most) {}
  /// Counts a piece that has arrived. `drop`, which must not throw, is called once it has to go, in
  /// a thread that brings another. A piece that is larger than the budget stays until then, too.
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
};

}  // namespace packhorse
