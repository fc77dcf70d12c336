#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "storage/cache/byte_locks.h"

/// DIR/packhorse-cache.json says that a directory is a cache, how many bytes its runs may take, and
/// how many they take:
///
///     {"packhorse_cache": 1, "most":          68719476736, "stored":            528482304}
///
/// The numbers are padded, so that the text keeps its length and is written over in place: the file
/// is never replaced, because everyone locks it (byte 0) to read or change it. Space is counted as
/// stored before it is used, so a process that dies leaves too large a number, never too small a
/// one. When it seems full, the files are looked at and the number is corrected.
namespace packhorse {

inline constexpr const char* kAccountName = "packhorse-cache.json";

struct CacheAccount {
  std::uint64_t most = 0;
  std::uint64_t stored = 0;
  /// Whether `bytes` more may be stored.
  bool has_room_for(std::uint64_t bytes) const { return bytes <= most && stored <= most - bytes; }
};

std::string account_text(const CacheAccount& account);
/// Whether it is the beginning of such a text, from a process that was killed while it wrote the
/// first one.
bool is_begun_account(std::string_view text);
/// Throws Error(kUsage) for a file of something else and Error(kUnsupported) for one of a later
/// version, without a path.
CacheAccount parse_account(std::string_view text);

/// The open and locked file. One thread; other threads open it for themselves.
class LockedAccount {
 public:
  /// Waits for the lock. Throws Error(kIo | kUsage | kUnsupported).
  LockedAccount(UniqueFd fd, std::filesystem::path path);

  /// Nothing as long as nobody has written all of it.
  const std::optional<CacheAccount>& account() const { return account_; }
  void put(const CacheAccount& account);
  int fd() const { return fd_.get(); }

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
  HeldLock lock_;
  std::optional<CacheAccount> account_;
};

}  // namespace packhorse
