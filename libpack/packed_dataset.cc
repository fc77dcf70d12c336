#include "packhorse/packed_dataset.h"

#include <algorithm>
#include <atomic>

#include "packhorse/error.h"
#include "packhorse/hash.h"
#include "packhorse/source.h"
#include "zstd_frame.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr const char* kVerifyAdvice =
    "run `packhorse inspect --verify full` on the dataset; restore the file or pack again";

fs::path checked(const fs::path& path) {
  if (is_packed_dataset(path)) return path;
  std::error_code code;
  if (!fs::exists(path, code))
    throw Error(ErrorKind::kNotFound, "the dataset is not there", path, "check the path");
  if (path.native().ends_with(".partial") || fs::exists(path / "receipts", code)) {
    throw Error(ErrorKind::kNotFound,
                "this is a staging directory, not a dataset: packing did not finish", path,
                "run the same pack command again; it goes on where it stopped");
  }
  std::string splits;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, code)) {
    if (is_packed_dataset(entry.path()))
      splits += (splits.empty() ? "" : ", ") + entry.path().string();
  }
  throw Error(ErrorKind::kNotFound, "no dataset: there is no dataset.json in it", path,
              splits.empty() ? "give the directory that `packhorse pack` wrote"
                             : "name one of its splits: " + splits);
}

std::atomic<std::uint64_t> next_serial{1};

/// The frame a thread decompressed last, and its buffers.
struct FrameCache {
  std::uint64_t dataset = 0;  ///< its serial number; 0: nothing is in here
  std::size_t shard = 0, row = 0;
  std::vector<std::byte> stored, content;
};

}  // namespace

bool is_packed_dataset(const fs::path& path) {
  std::error_code code;
  return fs::is_regular_file(path / kManifestName, code);
}

std::vector<fs::path> find_datasets(const fs::path& path) {
  std::vector<fs::path> found;
  std::error_code code;
  if (!is_packed_dataset(path) && !path.native().ends_with(".partial")) {
    for (const fs::directory_entry& entry : fs::directory_iterator(path, code)) {
      if (is_packed_dataset(entry.path())) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
  }
  if (found.empty()) found.push_back(checked(path));
  return found;
}

PackedDataset::PackedDataset(const fs::path& path)
    : path_(checked(path)), manifest_(Manifest::load(path)), serial_(next_serial++) {
  classes_ = read_class_list(path_ / kClassesName);
  if (classes_.size() != manifest_.class_samples.size()) {
    throw Error(ErrorKind::kCorrupt, "the class list does not fit the manifest",
                path_ / kClassesName, kVerifyAdvice);
  }
  shards_.reserve(manifest_.shards.size());
  std::uint64_t samples = 0;
  for (const ShardRecord& record : manifest_.shards) {
    const fs::path data = path_ / record.file;
    shards_.push_back({ShardIndex(path_ / record.index), open_for_reading(data)});
    const Shard& shard = shards_.back();
    if (shard.index.size() != record.samples || record.first_sample != samples ||
        shard.index.fields() != manifest_.fields ||
        shard.index.compressed() != !manifest_.compress.empty()) {
      throw Error(ErrorKind::kCorrupt, "the index does not fit the manifest", path_ / record.index,
                  kVerifyAdvice);
    }
    const std::uint64_t size = file_size(shard.data.get(), data);
    if (size != record.bytes || shard.index.data_bytes() != record.bytes) {
      throw Error(
          ErrorKind::kCorrupt,
          "the shard has " + std::to_string(size) + " bytes, not " + std::to_string(record.bytes),
          data, kVerifyAdvice);
    }
    samples += record.samples;
  }
  if (samples != manifest_.samples) {
    throw Error(ErrorKind::kCorrupt, "the shards do not fit the manifest's count",
                path_ / kManifestName, kVerifyAdvice);
  }
}

fs::path PackedDataset::data_path(std::size_t shard) const {
  return path_ / manifest_.shards[shard].file;
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
              path_, "`packhorse inspect --list` shows the keys");
}

ImageInfo PackedDataset::image(std::size_t sample) const {
  const Place at = place(sample);
  return index(at.shard).image(at.row);
}

void PackedDataset::read(std::size_t sample, std::vector<std::byte>& out) const {
  const Place at = place(sample);
  const ShardIndex& shard = index(at.shard);
  read_range(at, shard.range(at.row), out);
  if (xxh3(out) != shard.hash(at.row)) {
    corrupt(at, "the image's bytes are not the ones that were packed");
  }
}

bool PackedDataset::read_field(std::size_t sample, std::size_t field,
                               std::vector<std::byte>& out) const {
  const Place at = place(sample);
  const ShardIndex& shard = index(at.shard);
  if (!shard.has_field(at.row, field)) return false;
  read_range(at, shard.field_range(at.row, field), out);
  if (xxh3(out) != shard.field_hash(at.row, field)) {
    corrupt(at,
            "the bytes of the field '" + fields()[field] + "' are not the ones that were packed");
  }
  return true;
}

void PackedDataset::read_range(Place at, ByteRange range, std::vector<std::byte>& out) const {
  if (!index(at.shard).compressed()) {
    out.resize(range.length);
    read_exactly(fd(at.shard), range.offset, out, data_path(at.shard));
    return;
  }
  const std::uint64_t begin = index(at.shard).frame(at.row).content.offset;
  const Bytes piece = frame_content(at).subspan(range.offset - begin, range.length);
  out.assign(piece.begin(), piece.end());
}

/// A sample's frame, decompressed. Lives until this thread asks for another.
Bytes PackedDataset::frame_content(Place at) const {
  thread_local FrameCache cache;
  if (cache.dataset == serial_ && cache.shard == at.shard && cache.row == at.row)
    return cache.content;
  cache.dataset = 0;
  const Frame frame = index(at.shard).frame(at.row);
  cache.stored.resize(frame.stored.length);
  cache.content.resize(frame.content.length);
  read_exactly(fd(at.shard), frame.stored.offset, cache.stored, data_path(at.shard));
  try {
    decompress_frame(cache.stored, cache.content);
  } catch (const Error& error) {
    corrupt(at, error.what());
  }
  cache.dataset = serial_;
  cache.shard = at.shard;
  cache.row = at.row;
  return cache.content;
}

void PackedDataset::corrupt(Place at, const std::string& what) const {
  throw Error(ErrorKind::kCorrupt, what, data_path(at.shard), kVerifyAdvice,
              std::string(index(at.shard).key(at.row)));
}

}  // namespace packhorse
