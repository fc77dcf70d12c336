#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/hash.h"
#include "base/parallel.h"
#include "dataset/remote_files.h"
#include "dataset/shard_index.h"
#include "packhorse/base/error.h"
#include "packhorse/base/mapped_file.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/storage/remote.h"
#include "storage/cache/run_cache.h"
#include "storage/dataset/object_copy.h"
#include "storage/dataset/stored_shard.h"
#include "storage/http/client.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// Splits are looked for by name where a storage cannot list what it has.
constexpr const char* kUsualSplits[] = {"train", "val", "test"};
constexpr std::size_t kMostFolders = 1'000'000;
constexpr std::size_t kMostSplits = 100;
constexpr int kSplitsAtOnce = 16;

class RemoteDataset;

/// What all remote datasets of the process share.
struct Remote {
  RemoteOptions options;
  std::once_flag cache_once;
  std::shared_ptr<RunCache> cache;  ///< made when a dataset is first opened
  std::shared_ptr<MemoryBudget> memory;
  std::shared_ptr<Landing> landing = std::make_shared<Landing>();
  std::shared_ptr<RemoteEvents> events = std::make_shared<RemoteEvents>();
  std::mutex mutex;
  /// By their URLs: a dataset is looked at several times until it is open, and each store has
  /// credentials of its own.
  std::map<std::string, std::shared_ptr<RemoteDataset>> opened;
};

std::shared_ptr<Remote>& remote() {
  static std::shared_ptr<Remote> one;
  return one;
}

std::int64_t stamp_of(const std::string& tag) {
  return static_cast<std::int64_t>(xxh3(as_bytes(tag)) >> 1 | 1);
}

class RemoteDataset final : public RemoteFiles {
 public:
  RemoteDataset(RemoteParts parts, std::shared_ptr<RunCache> cache, std::uint64_t cache_bytes)
      : parts_(std::move(parts)), cache_(std::move(cache)), cache_bytes_(cache_bytes) {}

  StorageCounters counters() const { return parts_.store->counters(); }

  bool has(const std::string& name) override try {
    parts_.store->info(name);
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kNotFound) return false;
    throw;
  }

  RemoteFile look(const std::string& name) override {
    ObjectInfo info = parts_.store->info(name);
    const std::int64_t stamp = stamp_of(info.tag);
    return {name, info.bytes, stamp, std::move(info.tag)};
  }

  void copy(const std::string& name, std::span<std::byte> into, const RoomMaker& make_room,
            const std::function<void(Bytes)>& take) override {
    copy_object(*parts_.store, name, into, make_room, take);
  }

  std::string read_text(const std::string& name, std::uint64_t most) override {
    const std::vector<std::byte> bytes = parts_.store->read(name, std::min(most, kMostInMemory));
    return std::string(as_text(bytes));
  }

  UniqueFd open(const std::string& name, std::uint64_t bytes, const std::string& sha256) override {
    if (bytes == 0) return unnamed_file({}, shown(name));
    const std::shared_ptr<CachedFile> cached = cache_ ? cache_->open(sha256, bytes) : nullptr;
    if (cached && runs_in(*cached) == cached->runs()) {
      UniqueFd fd = cached->open_data();
      if (sha256_file(fd.get(), shown(name)) == sha256) return fd;
      for (std::size_t run = 0; run < cached->runs(); ++run) cached->forget(run);
      ++parts_.events->damaged;
    }
    std::vector<std::byte> content = fetch_whole(name, bytes, sha256);
    if (cached && keep(*cached, content)) return cached->open_data();
    return unnamed_file(content, shown(name));
  }

  std::unique_ptr<RemoteShard> open_shard(const ShardRecord& record,
                                          const ShardIndex& index) override {
    auto object = std::make_shared<ShardObject>(parts_, record.file, record.bytes, index);
    std::shared_ptr<CachedFile> cached;
    if (cache_ && record.bytes > 0) cached = cache_->open(record.sha256, record.bytes);
    if (cached) parts_.events->runs_found += runs_in(*cached);
    return std::make_unique<StoredShard>(std::move(object), std::move(cached));
  }

  bool can_list() const override { return parts_.store->place().scheme == "s3"; }

  std::vector<RemoteFile> list(std::size_t most) override {
    std::vector<RemoteFile> files;
    for (ListedObject& object : parts_.store->list("", most)) {
      const std::int64_t stamp = stamp_of(object.tag);
      files.push_back({std::move(object.name), object.bytes, stamp, std::move(object.tag)});
    }
    return files;
  }

  std::vector<std::byte> read(const RemoteFile& file) override {
    return read_in_pieces(*parts_.store, file.name, {0, file.bytes}, file.bytes, file.tag);
  }

  bool can_store() const override { return parts_.store->can_write(); }

  bool store(const std::string& name, const fs::path& from, const std::string& sha256) override {
    const MappedFile file(from);
    return parts_.store->write({name, file.bytes(), sha256});
  }

  void end_uploads(const std::vector<std::string>& names) override {
    parts_.store->end_uploads(names);
  }

  bool holds(const std::string& name, std::uint64_t bytes, const std::string& sha256) override try {
    const ObjectInfo info = parts_.store->info(name);
    return info.bytes == bytes && info.sha256 == sha256;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kNotFound) return false;
    throw;
  }

  void remove(const std::string& name) override { parts_.store->remove(name); }

  bool keeps(std::uint64_t bytes) const override { return cache_ && bytes <= cache_bytes_; }

  std::vector<std::string> splits() override {
    if (parts_.store->place().scheme != "s3") return usual_splits();
    const std::vector<std::string> folders = parts_.store->folders(kMostFolders);
    if (folders.size() > kMostSplits) return {};  // class folders, say
    std::vector<char> is_split(folders.size());
    run_parallel(kSplitsAtOnce, folders.size(), [&](std::size_t i) {
      is_split[i] = has(folders[i] + "/" + std::string(kManifestName)) ? 1 : 0;
    });
    std::vector<std::string> found;
    for (std::size_t i = 0; i < folders.size(); ++i)
      if (is_split[i] != 0) found.push_back(folders[i]);
    return found;
  }

 private:
  fs::path shown(const std::string& name) const {
    return parts_.store->place().below(name).shown();
  }

  std::vector<std::string> usual_splits() {
    std::vector<std::string> found;
    for (const std::string split : kUsualSplits)
      if (has(split + "/" + std::string(kManifestName))) found.push_back(split);
    std::ranges::sort(found);
    return found;
  }

  static std::size_t runs_in(const CachedFile& file) {
    std::size_t there = 0;
    for (std::size_t run = 0; run < file.runs(); ++run) there += file.has(run) ? 1u : 0u;
    return there;
  }

  std::vector<std::byte> fetch_whole(const std::string& name, std::uint64_t bytes,
                                     const std::string& hash) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      std::vector<std::byte> content = parts_.store->read(name, std::min(bytes, kMostInMemory));
      if (content.size() == bytes && sha256(content) == hash) return content;
      ++parts_.events->damaged;
    }
    throw Error(ErrorKind::kCorrupt, "the file is not the one that the manifest names", shown(name),
                "upload the dataset again; `inspect(verify=full)` checks a copy");
  }

  /// False when it is not all there afterwards: others are at it, or there is no room.
  static bool keep(CachedFile& file, Bytes content) {
    for (std::size_t run = 0; run < file.runs(); ++run) {
      const ByteRange range = file.range_of(run);
      const CachedFile::Claim claim = file.claim(run);
      if (claim == CachedFile::Claim::kThere) continue;
      if (claim != CachedFile::Claim::kMine) return false;
      if (!file.write(run, content.subspan(range.offset, range.length))) return false;
    }
    return true;
  }

  const RemoteParts parts_;
  const std::shared_ptr<RunCache> cache_;  ///< null: nothing is kept on the disk
  const std::uint64_t cache_bytes_;
};

std::shared_ptr<RemoteFiles> open_files(const std::string& url) {
  const std::shared_ptr<Remote> all = remote();
  std::call_once(all->cache_once, [&] {
    const RemoteOptions& options = all->options;
    if (!options.cache.empty())
      all->cache = std::make_shared<RunCache>(options.cache, options.cache_bytes);
  });
  const Url place = parse_url(url);
  if (!place.query.empty())
    throw Error(ErrorKind::kUsage,
                "the URL of a dataset has a query, which may be a secret, and would be shown as a "
                "part of its files' names",
                place.shown(), "give the URL without it; `url_command=` signs each file's");
  const std::scoped_lock lock(all->mutex);
  std::shared_ptr<RemoteDataset>& files = all->opened[place.shown()];
  if (!files) {
    const auto store = open_store(place, all->options.storage);
    files =
        std::make_shared<RemoteDataset>(RemoteParts{store, all->memory, all->landing, all->events},
                                        all->cache, all->options.cache_bytes);
  }
  return files;
}

}  // namespace

void RemoteOptions::validate() const {
  storage.validate();
  if (memory_bytes < kRunBytes)
    throw Error(ErrorKind::kUsage, "less than 4 MiB of memory for what is fetched", {},
                "give more");
  if (!cache.empty() && cache_bytes < kRunBytes)
    throw Error(ErrorKind::kUsage, "a cache of less than 4 MiB", {}, "give more, or no cache");
}

void enable_remote(const RemoteOptions& options) {
  options.validate();
  // Before remote(): at exit clients, and the TLS that they use, go after what uses them.
  static_cast<void>(shared_client(options.storage));
  const auto made = std::make_shared<Remote>();
  made->options = options;
  made->memory = std::make_shared<MemoryBudget>(options.memory_bytes);
  remote() = made;
  set_remote_opener(open_files);
}

RemoteCounters operator-(const RemoteCounters& now, const RemoteCounters& before) {
  const StorageCounters &a = now.storage, &b = before.storage;
  return {.storage = {.requests = a.requests - b.requests,
                      .retries = a.retries - b.retries,
                      .bytes = a.bytes - b.bytes,
                      .failed = a.failed - b.failed,
                      .wait_ns = a.wait_ns - b.wait_ns},
          .runs_fetched = now.runs_fetched - before.runs_fetched,
          .runs_found = now.runs_found - before.runs_found,
          .damaged = now.damaged - before.damaged,
          .waits = now.waits - before.waits,
          .wait_ns = now.wait_ns - before.wait_ns};
}

RemoteCounters remote_counters() {
  RemoteCounters counters;
  const std::shared_ptr<Remote> all = remote();
  if (!all) return counters;
  const RemoteEvents& events = *all->events;
  counters.runs_fetched = events.runs_fetched;
  counters.runs_found = events.runs_found;
  counters.damaged = events.damaged;
  counters.waits = events.waits;
  counters.wait_ns = events.wait_ns;
  const std::scoped_lock lock(all->mutex);
  for (const auto& [url, files] : all->opened) {
    const StorageCounters one = files->counters();
    counters.storage.requests += one.requests;
    counters.storage.retries += one.retries;
    counters.storage.bytes += one.bytes;
    counters.storage.failed += one.failed;
    counters.storage.wait_ns += one.wait_ns;
  }
  return counters;
}

}  // namespace packhorse
