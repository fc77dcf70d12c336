#include "packhorse/unpack.h"

#include <algorithm>
#include <atomic>

#include "packhorse/error.h"
#include "packhorse/file.h"
#include "packhorse/pack.h"
#include "packhorse/packed_dataset.h"
#include "parallel.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// The path a sample gets; one that would leave the target comes from a damaged or hostile index.
fs::path relative_path(const PackedDataset& dataset, const ShardIndex& index, std::size_t row,
                       std::size_t shard) {
  const std::string key(index.key(row));
  fs::path path(index.path(row));
  if (path.empty()) {
    const auto label = static_cast<std::size_t>(index.label(row));
    const std::string directory =
        label < dataset.classes().size() ? dataset.classes()[label] : std::to_string(label);
    path = fs::path(directory) / (key + std::string(extension_of(index.image(row).kind)));
  }
  const bool leaves = path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end();
  if (leaves || !path.has_filename()) {
    throw Error(ErrorKind::kCorrupt, "a sample's path would leave the target: " + path.string(),
                dataset.data_path(shard), "do not trust this dataset", key);
  }
  return path;
}

void unpack_shard(const PackedDataset& dataset, std::size_t shard, const fs::path& out,
                  Progress& progress, const std::stop_token& stop,
                  std::atomic<std::uint64_t>& bytes) {
  const ShardIndex& index = dataset.index(shard);
  const std::uint64_t first = dataset.manifest().shards[shard].first_sample;
  std::vector<std::byte> image;
  fs::path last_directory;
  for (std::size_t row = 0; row < index.size(); ++row) {
    if (stop.stop_requested()) throw Error(ErrorKind::kInterrupted, "stopped on request");
    dataset.read(first + row, image);
    const fs::path path = out / relative_path(dataset, index, row, shard);
    if (path.parent_path() != last_directory) {
      last_directory = path.parent_path();
      make_directories(last_directory);
    }
    if (fs::exists(fs::symlink_status(path))) {
      throw Error(ErrorKind::kExists, "two samples have the same path", path, {},
                  std::string(index.key(row)));
    }
    write_plain_file(path, image);
    ++progress.samples;
    progress.bytes += image.size();
    bytes += image.size();
  }
}

}  // namespace

UnpackReport unpack(const fs::path& dataset, const fs::path& out, Progress* progress,
                    std::stop_token stop) {
  Progress unseen;
  if (progress == nullptr) progress = &unseen;
  if (fs::exists(fs::symlink_status(out))) {
    throw Error(ErrorKind::kExists, "the target is already there", out,
                "choose another target, or remove it first");
  }
  const std::vector<fs::path> paths = find_datasets(dataset);
  const bool splits = paths.front() != dataset;
  const fs::path staging = staging_path(out);
  if (fs::exists(staging)) {
    throw Error(ErrorKind::kExists, "something is in the way of unpacking", staging,
                "remove it, if an unpack was killed there");
  }
  make_directories(staging);
  UnpackReport report;
  try {
    for (const fs::path& path : paths) {
      const PackedDataset opened(path);
      progress->total_samples += opened.size();
      const fs::path target = splits ? staging / path.filename() : staging;
      for (const std::string& name : opened.classes()) make_directories(target / name);
      std::atomic<std::uint64_t> bytes{0};
      run_parallel(available_cpus(), opened.shards(), [&](std::size_t shard) {
        unpack_shard(opened, shard, target, *progress, stop, bytes);
      });
      report.samples += opened.size();
      report.bytes += bytes;
    }
    sync_filesystem(staging);
    rename_no_replace(staging, out);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(staging, ignored);
    throw;
  }
  return report;
}

}  // namespace packhorse
