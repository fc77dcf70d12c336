#include "packhorse/dataset/packed_dataset.h"

#include <fcntl.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>

#include "base/parallel.h"
#include "base/zstd_frame.h"
#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "packhorse/base/hash.h"
#include "packhorse/base/resources.h"
#include "packhorse/dataset/class_list.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr const char* kVerifyAdvice =
    "run `packhorse inspect --verify full` on the dataset; restore the file from a copy, or pack "
    "again";

constexpr int kMostOpened = 8, kOpenedFromAfar = 16;  // indexes at once

constexpr const char* kWhatIsADataset =
    "give the directory that `packhorse pack` wrote; for shards of another writer, one that "
    "`packhorse index` has made a dataset";

fs::path checked(const fs::path& path) {
  if (is_packed_dataset(path)) return path;
  std::error_code code;
  if (open_remote(path))
    throw Error(
        ErrorKind::kNotFound, "not a dataset: there is no dataset.json below the URL", path,
        "give the URL of what `packhorse pack` wrote; of its splits one, such as URL/train");
  if (!fs::exists(path, code))
    throw Error(ErrorKind::kNotFound, "the dataset does not exist", path, "check the path");
  if (path.native().ends_with(".partial") || fs::exists(path / "receipts", code)) {
    throw Error(ErrorKind::kNotFound,
                "this is a staging directory, not a dataset: packing has not finished", path,
                "run the same pack command again; it continues where it stopped");
  }
  if (!fs::is_directory(path, code))
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

std::atomic<std::uint64_t> next_serial{1};

/// The frame a thread decompressed last, and its buffers.
struct FrameCache {
  std::uint64_t dataset = 0;  ///< its serial number; 0: nothing is in here
  std::size_t shard = 0, row = 0;
  std::vector<std::byte> content;
};

FrameCache& frame_cache() {
  thread_local FrameCache cache;
  return cache;
}

}  // namespace

bool is_packed_dataset(const fs::path& path) {
  if (const auto remote = open_remote(path)) return remote->has(std::string(kManifestName));
  std::error_code code;
  return fs::is_regular_file(path / kManifestName, code);
}

std::vector<fs::path> find_datasets(const fs::path& path) {
  std::vector<fs::path> found;
  if (const auto remote = open_remote(path)) {
    if (!remote->has(std::string(kManifestName))) {
      for (const std::string& split : remote->splits()) found.push_back(path / split);
    }
    if (found.empty()) found.push_back(checked(path));
    return found;
  }
  std::error_code code;
  if (!is_packed_dataset(path) && !path.native().ends_with(".partial") &&
      fs::is_directory(path, code)) {
    for (const fs::directory_entry& entry : entries_in(path)) {
      if (is_packed_dataset(entry.path())) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
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
                      const Manifest& manifest) {
  const fs::path path = dataset.path() / record.index;
  const UniqueFd fd = dataset.open(record.index, record.index_bytes, record.index_sha256);
  ShardIndex index(fd.get(), path);
  if (const auto why = index.why_not_of(record, manifest))
    throw Error(ErrorKind::kCorrupt, *why, path, kVerifyAdvice);
  return index;
}

PackedDataset::PackedDataset(const fs::path& path)
    : directory_(checked(path)), manifest_(Manifest::load(directory_)), serial_(next_serial++) {
  classes_ = classes_of(directory_, manifest_);
  open_shards();
}

/// Indexes are hashed as a whole, and those from afar waited for: several at a time.
void PackedDataset::open_shards() {
  const std::size_t count = manifest_.shards.size();
  const int jobs = directory_.remote() ? kOpenedFromAfar : std::min(available_cpus(), kMostOpened);
  std::vector<std::optional<ShardIndex>> indexes(count);
  run_parallel(jobs, count, [&](std::size_t i) {
    indexes[i].emplace(open_index(directory_, manifest_.shards[i], manifest_));
  });
  shards_.reserve(count);  // remote shards look at the indexes in it
  for (std::size_t i = 0; i < count; ++i) {
    const ShardRecord& record = manifest_.shards[i];
    Shard& shard = shards_.emplace_back(Shard{std::move(*indexes[i]), {}, {}});
    if (directory_.remote()) {
      shard.remote = directory_.remote()->open_shard(record, shard.index);
    } else {
      open_local(shard, record);
    }
  }
}

void PackedDataset::open_local(Shard& shard, const ShardRecord& record) const {
  const fs::path data = path() / record.file;
  const UniqueFd fd = directory_.open(record.file, DatasetDirectory::links_of(manifest_));
  shard.data = MappedFile(fd.get(), data);
  const std::uint64_t size = shard.data.bytes().size();
  if (size == record.bytes) return;
  throw Error(
      ErrorKind::kCorrupt,
      "the shard has " + std::to_string(size) + " bytes, not " + std::to_string(record.bytes), data,
      kVerifyAdvice);
}

fs::path PackedDataset::data_path(std::size_t shard) const {
  return path() / manifest_.shards[shard].file;
}

PackedDataset::Place PackedDataset::place(std::size_t sample) const {
  const auto after = std::upper_bound(
      manifest_.shards.begin(), manifest_.shards.end(), sample,
      [](std::size_t value, const ShardRecord& record) { return value < record.first_sample; });
  const auto shard = static_cast<std::size_t>(after - manifest_.shards.begin()) - 1;
  return {shard, sample - manifest_.shards[shard].first_sample};
}

std::size_t PackedDataset::find(std::string_view key) const {
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
    const ShardIndex& index = shards_[shard].index;
    for (std::size_t row = 0; row < index.size(); ++row) {
      if (index.key(row) == key) return manifest_.shards[shard].first_sample + row;
    }
  }
  throw Error(ErrorKind::kNotFound, "there is no sample with the key '" + std::string(key) + "'",
              path(), "`packhorse inspect --list` shows the keys");
}

ImageInfo PackedDataset::image(std::size_t sample) const {
  const Place at = place(sample);
  return index(at.shard).image(at.row);
}

Bytes PackedDataset::view(std::size_t sample) const {
  const Place at = place(sample);
  const ShardIndex& shard = index(at.shard);
  const ByteRange range = shard.range(at.row);
  Bytes bytes = view_range(at, range);
  if (xxh3(bytes) == shard.hash(at.row)) [[likely]]
    return bytes;
  bytes = view_anew(at, range);
  if (xxh3(bytes) != shard.hash(at.row)) refuse_other_bytes(at, "the image's bytes");
  return bytes;
}

std::string PackedDataset::name_at(Place at) const {
  const std::string_view key = index(at.shard).key(at.row);
  if (!key.empty()) return std::string(key);
  return "number " + std::to_string(manifest_.shards[at.shard].first_sample + at.row);
}

void PackedDataset::check_whole(std::size_t sample) const {
  const Shard& shard = shards_[place(sample).shard];
  if (!shard.data.truncated() && !shard.index.truncated()) [[likely]]
    return;
  const fs::path file = shard.data.truncated()
                            ? data_path(place(sample).shard)
                            : path() / manifest_.shards[place(sample).shard].index;
  throw Error(ErrorKind::kIo, "the file was truncated while it was open, or its disk is failing",
              file, kVerifyAdvice, name_at(place(sample)));
}

void PackedDataset::read(std::size_t sample, std::vector<std::byte>& out) const {
  const Bytes bytes = view(sample);
  out.assign(bytes.begin(), bytes.end());
  check_whole(sample);
}

bool PackedDataset::read_field(std::size_t sample, std::size_t field,
                               std::vector<std::byte>& out) const {
  const Place at = place(sample);
  const ShardIndex& shard = index(at.shard);
  if (!shard.has_field(at.row, field)) return false;
  const ByteRange range = shard.field_range(at.row, field);
  const auto is_right = [&](Bytes bytes) {
    out.assign(bytes.begin(), bytes.end());
    return xxh3(out) == shard.field_hash(at.row, field);
  };
  if (!is_right(view_range(at, range)) && !is_right(view_anew(at, range)))
    refuse_other_bytes(at, "the bytes of the field '" + fields()[field] + "'");
  return true;
}

void PackedDataset::refuse_other_bytes(Place at, std::string_view what) const {
  check_whole(manifest_.shards[at.shard].first_sample + at.row);
  corrupt(at, std::string(what) + " are not the ones that were packed");
}

ByteRange PackedDataset::stored_range(Place at) const {
  const ShardIndex& shard = index(at.shard);
  return shard.compressed() ? shard.frame(at.row).stored : shard.range(at.row);
}

Bytes PackedDataset::view_range(Place at, ByteRange range) const {
  if (!index(at.shard).compressed()) return stored(at, range);
  const std::uint64_t begin = index(at.shard).frame(at.row).content.offset;
  return frame_content(at).subspan(range.offset - begin, range.length);
}

/// For bytes that are not the right ones: a copy of remote bytes that was damaged on a disk or on
/// the way is fetched once more.
Bytes PackedDataset::view_anew(Place at, ByteRange range) const {
  if (!shards_[at.shard].remote) return view_range(at, range);
  const bool compressed = index(at.shard).compressed();
  shards_[at.shard].remote->discard(compressed ? stored_range(at) : range);
  frame_cache().dataset = 0;
  return view_range(at, range);
}

std::uint64_t PackedDataset::prefetch(std::span<const std::uint64_t> samples) const {
  std::uint64_t asked = 0;
  std::size_t shard = 0;
  ByteRange run;
  const auto ask = [&] {
    if (run.length == 0) return;
    if (const auto& remote = shards_[shard].remote) {
      remote->prefetch(run);
    } else {
      shards_[shard].data.will_need(run);
    }
    asked += run.length;
  };
  for (const std::uint64_t sample : samples) {
    const Place at = place(sample);
    const ByteRange range = stored_range(at);
    const bool joins = run.length > 0 && run.length < kJoinedBytes && at.shard == shard &&
                       range.offset >= run.offset && range.offset <= run.end() + kJoinedGap;
    if (joins) {
      run.length = std::max(run.end(), range.end()) - run.offset;
      continue;
    }
    ask();
    shard = at.shard;
    run = range;
  }
  ask();
  return asked;
}

double PackedDataset::resident_share() const {
  if (directory_.remote()) return remote_share();
  constexpr std::size_t kShards = 32, kPlaces = 8;
  std::size_t looked = 0, there = 0;
  const std::size_t shards = std::min(kShards, shards_.size());
  for (std::size_t i = 0; i < shards; ++i) {
    const std::size_t shard = i * shards_.size() / shards;
    const UniqueFd fd = open_file(data_path(shard), O_RDONLY);
    if (!fd) continue;                                   // removed meanwhile: tells nothing
    ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM);  // no read-ahead, which would distort this
    const std::uint64_t bytes = shards_[shard].data.bytes().size();
    for (std::size_t k = 0; k < kPlaces; ++k, ++looked) {
      std::byte byte{};
      const iovec place{&byte, 1};
      const auto offset = static_cast<off_t>(bytes / kPlaces * k + bytes / kPlaces / 2);
      there += ::preadv2(fd.get(), &place, 1, offset, RWF_NOWAIT) == 1;
    }
  }
  return looked == 0 ? 0 : static_cast<double>(there) / static_cast<double>(looked);
}

double PackedDataset::remote_share() const {
  double bytes = 0, there = 0;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    const auto size = static_cast<double>(manifest_.shards[i].bytes);
    bytes += size;
    there += size * shards_[i].remote->resident_share();
  }
  return bytes == 0 ? 1 : there / bytes;
}

void PackedDataset::release() const {
  for (const Shard& shard : shards_) shard.data.release();
}

/// A sample's frame, decompressed. Valid until this thread asks for another.
Bytes PackedDataset::frame_content(Place at) const {
  FrameCache& cache = frame_cache();
  if (cache.dataset == serial_ && cache.shard == at.shard && cache.row == at.row)
    return cache.content;
  cache.dataset = 0;
  const Frame frame = index(at.shard).frame(at.row);
  const auto decompress = [&] {
    decompress_frame(stored(at, frame.stored), frame.content.length, cache.content);
  };
  try {
    decompress();
  } catch (const Error& error) {
    check_whole(manifest_.shards[at.shard].first_sample + at.row);
    if (!shards_[at.shard].remote) corrupt(at, error.what());
    shards_[at.shard].remote->discard(frame.stored);
    decompress();
  }
  cache.dataset = serial_;
  cache.shard = at.shard;
  cache.row = at.row;
  return cache.content;
}

void PackedDataset::corrupt(Place at, const std::string& what) const {
  throw Error(ErrorKind::kCorrupt, what, data_path(at.shard), kVerifyAdvice, name_at(at));
}

}  // namespace packhorse
