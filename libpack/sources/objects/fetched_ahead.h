#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace packhorse {

/// Small files that were fetched before they are needed, each to be taken once. Holds a bounded
/// number of bytes. Thread-safe.
class FetchedAhead {
 public:
  explicit FetchedAhead(std::uint64_t most) : most_(most) {}

  /// Fetches file `number`, of `bytes` bytes, and keeps it, unless whoever needs it was here
  /// before, or there is no room, also after a moment. When fetching fails, nothing is kept:
  /// whoever needs the file fetches it, and hears why not.
  void fetch(std::uint64_t number, std::uint64_t bytes,
             const std::function<std::vector<std::byte>()>& get);
  /// Moves a file out, waiting while it is on its way. False when it is not here.
  bool take(std::uint64_t number, std::vector<std::byte>& out);

 private:
  struct File {
    std::vector<std::byte> content;
    bool there = false;
  };
  const std::uint64_t most_;
  std::mutex mutex_;  ///< guards everything below
  std::condition_variable changed_;
  std::unordered_map<std::uint64_t, File> files_;
  std::unordered_set<std::uint64_t> passed_;  ///< those not here when they were needed
  bool in_use_ = false;  ///< something was fetched: before that, nobody is late
  bool stuck_ = false;   ///< there is no room, and nothing was taken for a moment
  std::uint64_t bytes_ = 0;
};

}  // namespace packhorse
