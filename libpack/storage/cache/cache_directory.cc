#include "storage/cache/cache_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <tuple>
#include <utility>

#include "packhorse/base/error.h"
#include "storage/cache/beneath.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// After a search for space in vain, the next one waits so many times as long as that took.
constexpr std::int64_t kRestAfterSearch = 50;

std::int64_t steady_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// "a/b/" as "a/b".
fs::path without_slash(fs::path path) {
  return !path.has_filename() && path.has_parent_path() ? path.parent_path() : path;
}

void make_cache_directory(const fs::path& path) {
  if (path.has_parent_path()) make_directories(path.parent_path());
  constexpr mode_t kMine = 0700;  // what is cached may be of a private bucket
  if (::mkdir(path.c_str(), kMine) != 0 && errno != EEXIST) throw_errno("create", path);
}

void refuse_others_directory(int fd, const fs::path& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw_errno("inspect", path);
  if (status.st_uid == ::geteuid()) return;
  throw Error(ErrorKind::kUsage, "the directory belongs to another user", path,
              "choose a directory of your own for the cache");
}

[[noreturn]] void refuse_absent(const fs::path& path) {
  throw Error(ErrorKind::kNotFound, "there is no cache here", path,
              "give the directory of a cache; it is made when a remote dataset is first read");
}

std::uint64_t sum_of_allocated(const std::vector<FoundShard>& shards) {
  std::uint64_t bytes = 0;
  for (const FoundShard& shard : shards) bytes += shard.allocated;
  return bytes;
}

Removal remove_from(const CacheDirectory& cache, const std::string& sha256) {
  const UniqueFd folder = open_folder(cache.fd(), cache.path(), sha256, false);
  if (!folder) return Removal::kNotThere;
  return remove_shard(folder.get(), cache.path() / sha256.substr(0, 2), sha256);
}

}  // namespace

CacheDirectory::CacheDirectory(fs::path path, std::optional<std::uint64_t> most)
    : path_(without_slash(std::move(path))) {
  refuse_url(path_.native());
  if (most && *most < kRunBytes) {
    throw Error(ErrorKind::kUsage,
                "a cache of " + std::to_string(*most) +
                    " bytes can hold nothing: it keeps runs of " + std::to_string(kRunBytes) +
                    " bytes",
                path_, "give it more, or none at all");
  }
  if (most) make_cache_directory(path_);
  directory_ = open_file(path_, O_DIRECTORY | O_RDONLY);
  if (!directory_ && errno == ENOENT && !most) refuse_absent(path_);
  if (!directory_) throw_errno("open", path_);
  refuse_others_directory(fd(), path_);
  take_account(most);
}

/// Whether there is anything but the account, which the cache's own files come after. A file system
/// of its own has a lost+found.
bool CacheDirectory::holds_other_things() const {
  const std::vector<std::string> names = names_in(fd(), path_);
  return std::ranges::any_of(
      names, [](const std::string& name) { return name != kAccountName && name != "lost+found"; });
}

UniqueFd CacheDirectory::open_or_make_account(bool make) const {
  const Beneath file = account_file();
  UniqueFd account = open_beneath(file, O_RDWR);
  if (!account && errno == ENOENT && make) {
    if (holds_other_things() && !is_own_file(file)) {
      throw Error(ErrorKind::kUsage, "the directory holds something else, and is no cache", path_,
                  "choose a directory that is missing or empty");
    }
    account = open_beneath(file, O_RDWR | O_CREAT);
  } else if (!account && errno == ENOENT) {
    return {};
  }
  if (!account && errno != ELOOP && errno != EISDIR && errno != ENXIO)
    throw_errno("open", file.path);
  if (!account || !is_own_file(account.get())) refuse_foreign(file.path);
  return account;
}

void CacheDirectory::take_account(std::optional<std::uint64_t> most) {
  UniqueFd file = open_or_make_account(most.has_value());
  if (!file) refuse_absent(path_);
  LockedAccount account(std::move(file), account_file().path);
  if (!account.account() && !most) refuse_absent(path_);
  if (!most) {
    most_ = account.account()->most;
    return;
  }
  const bool fresh = !account.account();
  most_ = *most;
  // Whoever dies here leaves what was counted: others, who have the cache open, go by it.
  account.put({most_, fresh ? 0 : account.account()->stored});
  make_room(account);
  if (!fresh) return;
  sync_file(account.fd(), path_ / kAccountName);
  sync_file(fd(), path_);
}

/// Nothing when the directory was removed: what is open of the cache can still be read then.
std::unique_ptr<LockedAccount> CacheDirectory::lock_account() const {
  UniqueFd file = open_or_make_account(false);
  if (!file) return nullptr;
  auto account = std::make_unique<LockedAccount>(std::move(file), account_file().path);
  return account->account() ? std::move(account) : nullptr;
}

std::vector<FoundShard> CacheDirectory::shards() const {
  std::vector<FoundShard> shards;
  for (const std::string& name : names_in(fd(), path_)) {
    if (!is_hex(name, 2)) continue;
    const UniqueFd folder = open_folder(fd(), path_, name, false);
    if (!folder) continue;
    for (const std::string& file : names_in(folder.get(), path_ / name)) {
      const std::string sha256 = file.substr(0, 64);
      if (!is_hex(sha256, 64) || !sha256.starts_with(name) || file != sha256 + ".runs") continue;
      if (auto shard = look_at_shard(folder.get(), path_ / name, sha256))
        shards.push_back(std::move(*shard));
    }
  }
  return shards;
}

/// Looks at all files, evicts as many as it must, and corrects the account. False when the cache
/// holds more than it may even then: claimed runs count.
bool CacheDirectory::make_room(LockedAccount& account) {
  const std::uint64_t most = account.account()->most;
  std::vector<FoundShard> all = shards();
  std::uint64_t stored = sum_of_allocated(all);
  if (stored > most) {
    std::ranges::sort(all, [](const FoundShard& a, const FoundShard& b) {
      return std::tie(a.header.used_ns, a.header.sha256) <
             std::tie(b.header.used_ns, b.header.sha256);
    });
  }
  for (const FoundShard& shard : all) {
    if (stored <= most) break;
    if (shard.leased || remove_from(*this, shard.header.sha256) != Removal::kRemoved) continue;
    stored -= shard.allocated;
  }
  account.put({most, stored});
  return stored <= most;
}

bool CacheDirectory::reserve(std::uint64_t bytes) {
  const std::unique_ptr<LockedAccount> account = lock_account();
  if (!account) return false;
  const CacheAccount now = *account->account();
  if (now.has_room_for(bytes)) {
    account->put({now.most, now.stored + bytes});
    return true;
  }
  const std::int64_t begin = steady_now();
  if (begin < full_until_) return false;
  if (make_room(*account)) return true;
  const std::uint64_t counted = account->account()->stored;  // with the caller's claim
  account->put({now.most, counted - std::min(counted, bytes)});
  const std::int64_t end = steady_now();
  full_until_ = end + kRestAfterSearch * (end - begin);
  return false;
}

void CacheDirectory::refund(std::uint64_t bytes) {
  const std::unique_ptr<LockedAccount> account = lock_account();
  if (!account) return;
  const CacheAccount now = *account->account();
  account->put({now.most, now.stored - std::min(now.stored, bytes)});
  full_until_ = 0;
}

void CacheDirectory::shrink() {
  const std::unique_ptr<LockedAccount> account = lock_account();
  if (account && !account->account()->has_room_for(0)) make_room(*account);
}

std::uint64_t CacheDirectory::clear(const std::optional<std::string>& sha256) {
  const std::unique_ptr<LockedAccount> account = lock_account();
  if (!account) return 0;
  std::uint64_t freed = 0, stored = 0;
  for (const FoundShard& shard : shards()) {
    const bool wanted = !sha256 || shard.header.sha256 == *sha256;
    const bool removed = wanted && remove_from(*this, shard.header.sha256) == Removal::kRemoved;
    (removed ? freed : stored) += shard.allocated;
  }
  account->put({account->account()->most, stored});
  full_until_ = 0;
  return freed;
}

}  // namespace packhorse
