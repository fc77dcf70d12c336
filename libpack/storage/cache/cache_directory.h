#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "storage/cache/account.h"
#include "storage/cache/shard_files.h"

namespace packhorse {

/// A cache's directory, and the space in it. Held open: nothing changes when its path leads to
/// another one meanwhile. Thread-safe.
///
/// The account (account.h) is locked whenever space is counted, and while files are removed to make
/// some. Whoever holds that lock waits for no other, and it is taken last: so nobody waits in a
/// circle.
class CacheDirectory {
 public:
  /// Opens the directory. With `most` it is made if it is missing, and evicted down to that;
  /// without, it must be there, and keeps its limit. Throws Error(kUsage | kUnsupported | kNotFound
  /// | kIo | kNoSpace).
  CacheDirectory(std::filesystem::path path, std::optional<std::uint64_t> most);

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t most() const { return most_; }
  int fd() const { return directory_.get(); }

  /// The files in it that are the cache's.
  std::vector<FoundShard> shards() const;

  /// Counts `bytes` as stored for a run whose claim the caller holds, and makes room for them if
  /// there is none. False when there is none to be made, and when the directory was removed.
  bool reserve(std::uint64_t bytes);
  /// Takes back what was reserved and not used, or was removed.
  void refund(std::uint64_t bytes);
  /// Evicts as long as the cache holds more than it may.
  void shrink();
  /// Removes all files that nobody has open, or one. Returns the bytes that became free.
  std::uint64_t clear(const std::optional<std::string>& sha256);
  /// A lease has ended: reserve() may find files to evict that it could not before.
  void lease_ended() { full_until_ = 0; }

 private:
  Beneath account_file() const { return {fd(), kAccountName, path_ / kAccountName}; }
  UniqueFd open_or_make_account(bool make) const;
  std::unique_ptr<LockedAccount> lock_account() const;
  void take_account(std::optional<std::uint64_t> most);
  bool holds_other_things() const;
  bool make_room(LockedAccount& account);

  std::filesystem::path path_;
  UniqueFd directory_;
  std::uint64_t most_ = 0;
  /// On the steady clock: until then, no search for files to evict would find any. Searching takes
  /// time while everyone waits, and a cache full of open files stays full.
  std::atomic<std::int64_t> full_until_{0};
};

}  // namespace packhorse
