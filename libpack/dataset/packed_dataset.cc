#include "packhorse/dataset/packed_dataset.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include <algorithm>
#include <atomic>

#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/paths.h"
#include "base/resources.h"
#include "base/stop.h"
#include "base/zstd_frame.h"
#include "dataset/class_list.h"
#include "dataset/dataset_directory.h"
#include "dataset/shard_index.h"
#include "dataset/shard_pool.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr const char* kVerifyAdvice =
    "run `inspect(verify=full)` on the dataset; restore the file from a copy, or pack "
    "again";

constexpr std::uint64_t kMostFromAfar = std::uint64_t{4} << 30;
constexpr std::uint64_t kLeastRowBytes = 60;  // of an index: docs/formats/index.md

constexpr int kMostOpened = 8, kOpenedFromAfar = 16;  // indexes at once

constexpr const char* kWhatIsADataset =
    "give the directory that `packhorse pack` wrote; shards of other tools become a dataset by "
    "`packhorse index SHARDS`";

fs::path checked(const fs::path& path) {
  if (is_packed_dataset(path)) return path;
  if (open_remote(path))
    throw Error(
        ErrorKind::kNotFound, "not a dataset: there is no dataset.json below the URL", path,
        "give the URL of a dataset that `packhorse pack` wrote, or of one of its splits, such as "
        "URL/train");
  if (!path_exists(path))
    throw Error(ErrorKind::kNotFound, "the dataset does not exist", path, "check the path");
  if (path.native().ends_with(".partial") || path_exists(path / "receipts")) {
    throw Error(ErrorKind::kNotFound,
                "this is a staging directory, not a dataset: packing has not finished", path,
                "run the same pack command again; it continues where it stopped");
  }
  if (!is_folder(path))
    throw Error(ErrorKind::kNotFound, "not a dataset: it is not a directory", path,
                kWhatIsADataset);
  std::string splits;
  for (const fs::directory_entry& entry : entries_in(path)) {
    if (is_packed_dataset(entry.path()))
      splits += (splits.empty() ? "" : ", ") + entry.path().string();
  }
  throw Error(ErrorKind::kNotFound, "not a dataset: there is no dataset.json in it", path,
              splits.empty() ? kWhatIsADataset : "give one of its splits: " + splits);
}

/// Whether an entry of a directory is a dataset. What cannot be reached may be one, and must not be
/// taken for absent: all else would be done without that split.
bool is_split(const fs::path& path) {
  std::error_code code;
  const fs::file_status status = fs::status(path / kManifestName, code);
  const std::string name = path.filename();
  const bool of_the_system = name.starts_with('.') || name == "lost+found";  // closed on any volume
  if (status.type() == fs::file_type::none && !of_the_system &&
      code != std::errc::too_many_symbolic_link_levels)
    throw_code(code, "tell whether this is a split of the dataset", path);
  return fs::is_regular_file(status);
}

std::atomic<std::uint64_t> next_serial{1};

/// The frame a thread decompressed last, and its buffers.
struct FrameCache {
  std::uint64_t dataset = 0;  ///< its serial number; 0: nothing is in here
  std::size_t shard = 0, row = 0;
  std::shared_ptr<std::vector<std::byte>> content = {};  ///< another one while views hold it
};

FrameCache& frame_cache() {
  thread_local FrameCache cache;
  return cache;
}

}  // namespace

bool is_packed_dataset(const fs::path& path) {
  if (const auto remote = open_remote(path)) return remote->has(std::string(kManifestName));
  return is_file(path / kManifestName);
}

std::vector<fs::path> find_datasets(const fs::path& path) {
  std::vector<fs::path> found;
  if (const auto remote = open_remote(path)) {
    if (remote->has(std::string(kManifestName))) return {path};
    for (const std::string& split : remote->splits()) found.push_back(path / split);
    if (found.empty()) found.push_back(checked(path));
    return found;
  }
  if (!is_packed_dataset(path) && !path.native().ends_with(".partial") && is_folder(path)) {
    for (const fs::directory_entry& entry : entries_in(path)) {
      if (is_split(entry.path())) found.push_back(entry.path());
    }
    std::ranges::sort(found);
  }
  if (found.empty()) found.push_back(checked(path));
  return found;
}

std::vector<std::string> classes_of(const DatasetDirectory& dataset, const Manifest& manifest) {
  const fs::path path = dataset.path() / kClassesName;
  std::vector<std::string> classes =
      parse_class_list(dataset.read_text(std::string(kClassesName)), path);
  if (classes.size() == manifest.class_samples.size()) return classes;
  throw Error(ErrorKind::kCorrupt, "the class list does not match the manifest", path,
              kVerifyAdvice);
}

ShardIndex open_index(const DatasetDirectory& dataset, const ShardRecord& record,
                      const Manifest& manifest, IndexCheck check) {
  obey_stop();
  const fs::path path = dataset.path() / record.index;
  const UniqueFd fd = dataset.open(record.index, record.index_bytes, record.index_sha256);
  ShardIndex index(fd.get(), path, check);
  if (const auto why = index.why_not_of(record, manifest))
    throw Error(ErrorKind::kCorrupt, *why, path, kVerifyAdvice);
  index.expect_labels_below(static_cast<std::int64_t>(manifest.class_samples.size()));
  return index;
}

PackedDataset::PackedDataset(const fs::path& path)
    : directory_(std::make_unique<DatasetDirectory>(checked(path))),
      manifest_(Manifest::load(*directory_)),
      serial_(next_serial++) {
  classes_ = classes_of(*directory_, manifest_);
  std::uint64_t index_bytes = 0;
  for (const ShardRecord& record : manifest_.shards) {
    first_samples_.push_back(record.first_sample);
    index_bytes += record.index_bytes;
    if (directory_->remote() && record.index_bytes > kMostFromAfar)
      throw Error(ErrorKind::kUnsupported,
                  "the manifest says that an index has " + std::to_string(record.index_bytes) +
                      " bytes; from a URL, one of at most 4 GiB is read",
                  this->path() / record.index,
                  "copy the dataset to a disk, if its manifest can be trusted");
    // Nothing is sized by a number of samples that no index of this size can hold.
    if (record.samples > record.index_bytes / kLeastRowBytes)
      throw Error(ErrorKind::kCorrupt, "damaged manifest: an index is too small for its samples",
                  this->path() / kManifestName, "restore the file from a copy, or pack again");
  }
  const auto& remote = directory_->remote();
  at_once_ = shards() <= kShardsAtOnce && index_bytes <= kIndexBytesAtOnce;
  const bool in_cache = remote && remote->keeps(0);
  pool_ = std::make_unique<ShardPool>(shards(), at_once_ && !remote ? shards() : 0, in_cache);
  if (!at_once_) return;
  // Indexes are hashed as a whole, and those from afar waited for: several at a time.
  const int jobs = remote ? kOpenedFromAfar : std::min(available_cpus(), kMostOpened);
  run_parallel(jobs, shards(), [&](std::size_t i) { static_cast<void>(shard(i)); });
}

PackedDataset::PackedDataset(PackedDataset&&) noexcept = default;
PackedDataset& PackedDataset::operator=(PackedDataset&&) noexcept = default;
PackedDataset::~PackedDataset() = default;

const fs::path& PackedDataset::path() const { return directory_->path(); }

PackedDataset::ShardPtr PackedDataset::shard(std::size_t number) const {
  if (ShardPtr open = pool_->find(number)) [[likely]]
    return open;
  return pool_->keep(number, open_shard(number));
}

PackedDataset::ShardPtr PackedDataset::open_shard(std::size_t number) const {
  const ShardRecord& record = manifest_.shards[number];
  const auto& remote = directory_->remote();
  // What comes from afar has been read as a whole anyway.
  const IndexCheck check =
      remote || (at_once_ && pool_->keeps_all()) ? IndexCheck::kAll : IndexCheck::kAsUsed;
  // Apart from what counts its owners, which the pool keeps.
  std::shared_ptr<OpenShard> opened(
      new OpenShard(open_index(*directory_, record, manifest_, check)));
  if (remote) {
    opened->remote = remote->open_shard(record, opened->index);
  } else {
    opened->data = map_data(record);
  }
  return opened;
}

MappedFile PackedDataset::map_data(const ShardRecord& record) const {
  const fs::path path = this->path() / record.file;
  const UniqueFd fd = directory_->open(record.file, DatasetDirectory::links_of(manifest_));
  MappedFile data(fd.get(), path);
  const std::uint64_t size = data.bytes().size();
  if (size == record.bytes) return data;
  throw Error(
      ErrorKind::kCorrupt,
      "the shard has " + std::to_string(size) + " bytes, not " + std::to_string(record.bytes), path,
      kVerifyAdvice);
}

std::shared_ptr<const ShardIndex> PackedDataset::index(std::size_t shard) const {
  const ShardPtr open = this->shard(shard);
  return {open, &open->index};
}

fs::path PackedDataset::data_path(std::size_t shard) const {
  return path() / manifest_.shards[shard].file;
}

PackedDataset::Place PackedDataset::place(std::size_t sample) const {
  if (sample >= size())
    throw Error(ErrorKind::kUsage,
                "there is no sample " + std::to_string(sample) + " of " + std::to_string(size()),
                path());
  const auto after = std::upper_bound(first_samples_.begin(), first_samples_.end(), sample);
  const auto shard = static_cast<std::size_t>(after - first_samples_.begin()) - 1;
  return {shard, sample - first_samples_[shard]};
}

std::size_t PackedDataset::find(std::string_view key) const {
  for (std::size_t shard = 0; shard < shards(); ++shard) {
    const auto index = this->index(shard);
    for (std::size_t row = 0; row < index->size(); ++row) {
      if (index->key(row) == key) return first_samples_[shard] + row;
    }
  }
  throw Error(ErrorKind::kNotFound, "there is no sample with the key '" + std::string(key) + "'",
              path(), "`inspect(list=true)` shows the keys");
}

ImageInfo PackedDataset::image(std::size_t sample) const {
  const Place at = place(sample);
  return shard(at.shard)->index.image(at.row);
}

BytesLease PackedDataset::view(std::size_t sample) const {
  obey_stop();
  const Place at = place(sample);
  const ShardPtr shard = this->shard(at.shard);
  const ByteRange range = shard->index.range(at.row);
  const std::uint64_t hash = shard->index.hash(at.row);
  BytesLease lease = view_range(*shard, at, range);
  if (xxh3(lease.bytes) != hash) [[unlikely]] {
    lease = view_anew(*shard, at, range);
    if (xxh3(lease.bytes) != hash) refuse_other_bytes(at, "the image's bytes");
  }
  if (!lease.owner) lease.owner = shard;
  return lease;
}

/// Messages about a shard that cannot be opened need a name, too.
std::string PackedDataset::name_at(Place at) const {
  std::string number = "number " + std::to_string(first_samples_[at.shard] + at.row);
  try {
    const ShardPtr shard = this->shard(at.shard);
    const std::string_view key = shard->index.key(at.row);
    return key.empty() ? number : std::string(key);
  } catch (const Error&) {
    return number;
  }
}

void PackedDataset::check_whole(std::size_t sample) const {
  const Place at = place(sample);
  const ShardPtr shard = pool_->find(at.shard);
  if (!shard || (!shard->data.truncated() && !shard->index.truncated())) [[likely]]
    return;
  const fs::path file =
      shard->data.truncated() ? data_path(at.shard) : path() / manifest_.shards[at.shard].index;
  throw Error(ErrorKind::kIo, "the file was truncated while it was open, or its disk is failing",
              file, kVerifyAdvice, name_at(at));
}

void PackedDataset::read(std::size_t sample, std::vector<std::byte>& out) const {
  const BytesLease lease = view(sample);
  out.assign(lease.bytes.begin(), lease.bytes.end());
  check_whole(sample);
}

bool PackedDataset::read_field(std::size_t sample, std::size_t field,
                               std::vector<std::byte>& out) const {
  const Place at = place(sample);
  const ShardPtr shard = this->shard(at.shard);
  const ShardIndex& index = shard->index;
  if (!index.has_field(at.row, field)) return false;
  const ByteRange range = index.field_range(at.row, field);
  const auto is_right = [&](const BytesLease& lease) {
    out.assign(lease.bytes.begin(), lease.bytes.end());
    return xxh3(out) == index.field_hash(at.row, field);
  };
  if (!is_right(view_range(*shard, at, range)) && !is_right(view_anew(*shard, at, range)))
    refuse_other_bytes(at, "the bytes of the field '" + fields()[field] + "'");
  return true;
}

void PackedDataset::refuse_other_bytes(Place at, std::string_view what) const {
  check_whole(first_samples_[at.shard] + at.row);
  corrupt(at, std::string(what) + " are not the ones that were packed");
}

BytesLease PackedDataset::view_range(const OpenShard& shard, Place at, ByteRange range) const {
  if (!shard.index.compressed()) return shard.stored(range);
  const std::uint64_t begin = shard.index.frame(at.row).content.offset;
  BytesLease frame = frame_content(shard, at);
  frame.bytes = frame.bytes.subspan(range.offset - begin, range.length);
  return frame;
}

/// For bytes that are not the right ones: a copy of remote bytes that was damaged on a disk or on
/// the way is fetched once more.
BytesLease PackedDataset::view_anew(const OpenShard& shard, Place at, ByteRange range) const {
  if (!shard.remote) return view_range(shard, at, range);
  shard.remote->discard(shard.index.compressed() ? shard.stored_range(at.row) : range);
  frame_cache().dataset = 0;
  return view_range(shard, at, range);
}

std::uint64_t PackedDataset::prefetch(std::span<const std::uint64_t> samples) const {
  std::uint64_t asked = 0;
  std::size_t number = 0;
  ShardPtr shard;
  ByteRange run;
  const auto ask = [&] {
    if (run.length == 0) return;
    if (shard->remote) {
      shard->remote->prefetch(run);
    } else {
      shard->data.will_need(run);
    }
    asked += run.length;
  };
  for (const std::uint64_t sample : samples) {
    const Place at = place(sample);
    const bool same = shard && at.shard == number;
    const ShardPtr next = same ? shard : this->shard(at.shard);
    const ByteRange range = next->stored_range(at.row);
    const bool joins = same && run.length > 0 && run.length < kJoinedBytes &&
                       range.offset >= run.offset && range.offset <= run.end() + kJoinedGap;
    if (joins) {
      run.length = std::max(run.end(), range.end()) - run.offset;
      continue;
    }
    ask();
    number = at.shard;
    shard = next;
    run = range;
  }
  ask();
  return asked;
}

namespace {

/// On tmpfs nothing is anywhere else, and preadv2() cannot ask.
bool lies_in_memory(int fd) {
  struct statfs about {};
  return ::fstatfs(fd, &about) == 0 && (about.f_type == TMPFS_MAGIC || about.f_type == RAMFS_MAGIC);
}

}  // namespace

double PackedDataset::resident_share() const {
  if (directory_->remote()) return remote_share();
  constexpr std::size_t kShards = 32, kPlaces = 8;
  std::size_t looked = 0, there = 0;
  const std::size_t some = std::min(kShards, shards());
  for (std::size_t i = 0; i < some; ++i) {
    const std::size_t shard = i * shards() / some;
    const UniqueFd fd = open_file(data_path(shard), O_RDONLY);
    if (!fd) continue;  // removed meanwhile: tells nothing
    if (lies_in_memory(fd.get())) return 1;
    ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM);  // no read-ahead, which would distort this
    const std::uint64_t bytes = manifest_.shards[shard].bytes;
    for (std::size_t k = 0; k < kPlaces; ++k, ++looked) {
      std::byte byte{};
      const iovec place{&byte, 1};
      const auto offset = static_cast<off_t>(bytes / kPlaces * k + bytes / kPlaces / 2);
      there += ::preadv2(fd.get(), &place, 1, offset, RWF_NOWAIT) == 1;
    }
  }
  return looked == 0 ? 0 : static_cast<double>(there) / static_cast<double>(looked);
}

/// Shards that have not been opened count as not there.
double PackedDataset::remote_share() const {
  double bytes = 0, there = 0;
  for (const ShardRecord& record : manifest_.shards) bytes += static_cast<double>(record.bytes);
  pool_->for_each_open([&](std::size_t i, const OpenShard& shard) {
    there += static_cast<double>(manifest_.shards[i].bytes) * shard.remote->resident_share();
  });
  return bytes == 0 ? 1 : there / bytes;
}

void PackedDataset::release() const {
  pool_->for_each_open([](std::size_t, const OpenShard& shard) {
    if (shard.remote) shard.remote->release();
    shard.data.release();
  });
}

/// A sample's frame, decompressed.
BytesLease PackedDataset::frame_content(const OpenShard& shard, Place at) const {
  FrameCache& cache = frame_cache();
  if (cache.dataset == serial_ && cache.shard == at.shard && cache.row == at.row)
    return {*cache.content, cache.content};
  cache.dataset = 0;
  if (!cache.content || cache.content.use_count() > 1)
    cache.content = std::make_shared<std::vector<std::byte>>();
  const Frame frame = shard.index.frame(at.row);
  const auto decompress = [&] {
    decompress_frame(shard.stored(frame.stored).bytes, frame.content.length, *cache.content);
  };
  try {
    decompress();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    check_whole(first_samples_[at.shard] + at.row);
    if (!shard.remote) corrupt(at, error.what());
    shard.remote->discard(frame.stored);
    decompress();
  }
  cache.dataset = serial_;
  cache.shard = at.shard;
  cache.row = at.row;
  return {*cache.content, cache.content};
}

void PackedDataset::corrupt(Place at, const std::string& what) const {
  throw Error(ErrorKind::kCorrupt, what, data_path(at.shard), kVerifyAdvice, name_at(at));
}

}  // namespace packhorse
