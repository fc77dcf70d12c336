#include "storage/cache/run_cache.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/hash.h"
#include "base/stop.h"
#include "packhorse/base/error.h"
#include "packhorse/storage/remote.h"
#include "storage/cache/cached_file.h"

namespace packhorse {

namespace fs = std::filesystem;

struct RunCache::State {
  std::shared_ptr<CacheDirectory> directory;
};

namespace {

void refuse_other_hash(const std::string& sha256) {
  if (is_hex(sha256, 64)) return;
  throw Error(ErrorKind::kUsage, "'" + sha256 + "' is no SHA-256", {},
              "give its 64 hexadecimal digits, in lower case");
}

/// SHA-256 of an open file. Nothing when it cannot be read.
std::optional<std::string> hash_of(int fd, std::uint64_t bytes, const fs::path& path) {
  std::vector<std::byte> buffer(1u << 20);
  Sha256 hash;
  try {
    for (std::uint64_t at = 0; at < bytes;) {
      obey_stop();
      const auto piece =
          std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), bytes - at));
      read_exactly(fd, at, piece, path);
      hash.update(piece);
      at += piece.size();
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    return std::nullopt;
  }
  return hash.finish();
}

bool is_complete(const CachedFile& file) {
  for (std::size_t run = 0; run < file.runs(); ++run)
    if (!file.has(run)) return false;
  return true;
}

}  // namespace

RunCache::RunCache(fs::path directory, std::uint64_t most)
    : state_(std::make_shared<State>(
          State{std::make_shared<CacheDirectory>(std::move(directory), most)})) {}
RunCache::RunCache(fs::path directory)
    : state_(std::make_shared<State>(
          State{std::make_shared<CacheDirectory>(std::move(directory), std::nullopt)})) {}
RunCache::~RunCache() = default;

const fs::path& RunCache::directory() const { return state_->directory->path(); }
std::uint64_t RunCache::most() const { return state_->directory->most(); }

std::shared_ptr<CachedFile> RunCache::open(const std::string& sha256, std::uint64_t bytes) {
  refuse_other_hash(sha256);
  CacheDirectory& directory = *state_->directory;
  if (bytes > kMostCachedBytes) {
    throw Error(ErrorKind::kUnsupported,
                "a file has " + std::to_string(bytes) + " bytes, the limit is " +
                    std::to_string(kMostCachedBytes),
                directory.path() / sha256, "do not trust the dataset that says so");
  }
  ShardFiles files = open_shard(directory.fd(), directory.path(), sha256, bytes);
  note_use(files);
  directory.shrink();
  return std::shared_ptr<CachedFile>(
      new CachedFile(std::make_unique<CachedFile::State>(state_->directory, std::move(files))));
}

std::vector<CacheEntry> RunCache::entries() const {
  std::vector<CacheEntry> entries;
  constexpr std::int64_t kSecond = 1'000'000'000;
  for (const FoundShard& shard : state_->directory->shards()) {
    entries.push_back({shard.header.sha256, shard.header.bytes, shard.stored, shard.leased,
                       shard.header.used_ns / kSecond});
  }
  std::ranges::sort(entries, {}, &CacheEntry::sha256);
  return entries;
}

std::uint64_t RunCache::clear(const std::optional<std::string>& sha256) {
  if (sha256) refuse_other_hash(*sha256);
  return state_->directory->clear(sha256);
}

std::vector<std::string> RunCache::verify(const std::stop_token& stop) {
  const StopScope scope(stop);
  CacheDirectory& directory = *state_->directory;
  std::vector<FoundShard> shards = directory.shards();
  std::ranges::sort(shards, [](const FoundShard& a, const FoundShard& b) {
    return a.header.sha256 < b.header.sha256;
  });
  std::vector<std::string> damaged;
  for (const FoundShard& shard : shards) {
    auto files = open_shard_if_there(directory.fd(), directory.path(), shard.header.sha256);
    if (!files) continue;
    const fs::path path = files->data.path;
    const UniqueFd fd = open_again(files->data_fd.get(), O_RDONLY, path);
    CachedFile file(std::make_unique<CachedFile::State>(state_->directory, std::move(*files)));
    if (!is_complete(file)) continue;
    if (hash_of(fd.get(), file.bytes(), path) == shard.header.sha256) continue;
    if (!is_complete(file)) continue;  // others have forgotten a run meanwhile
    for (std::size_t run = 0; run < file.runs(); ++run) file.forget(run);
    damaged.push_back(shard.header.sha256);
  }
  return damaged;
}

fs::path default_cache_directory() {
  const auto absolute = [](const char* name) {
    const char* const value = std::getenv(name);
    const fs::path path = value == nullptr ? "" : value;
    return path.is_absolute() ? path : fs::path();  // as the XDG specification wants it
  };
  if (const fs::path caches = absolute("XDG_CACHE_HOME"); !caches.empty())
    return caches / "packhorse";
  const fs::path home = absolute("HOME");
  return home.empty() ? home : home / ".cache/packhorse";
}

}  // namespace packhorse
