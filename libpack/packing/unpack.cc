#include "packhorse/packing/unpack.h"

#include <algorithm>
#include <atomic>

#include "base/file.h"
#include "base/parallel.h"
#include "base/resources.h"
#include "base/stop.h"
#include "dataset/shard_index.h"
#include "listing/field_names.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/packing/pack.h"
#include "packing/staging.h"
#include "packing/unpack_files.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// The path a field is given: beside the image with another extension, where a folder source looks
/// for it.
fs::path field_path(const fs::path& image, const std::string& field, const std::string& key) {
  if (field.find('/') != std::string::npos) {
    throw Error(ErrorKind::kCorrupt, "a field's path would leave the target: " + field, image,
                "do not trust this dataset", key);
  }
  return field_file(image.native(), field);
}

/// Makes the folder of a class, even one without samples.
void make_class_folder(const fs::path& target, const std::string& name, const fs::path& dataset) {
  if (leaves_folder(name)) {
    throw Error(ErrorKind::kCorrupt, "a class's folder would leave the target: " + name,
                dataset / kClassesName, "do not trust this dataset");
  }
  make_directories(target / name);
}

/// Unpacks one shard's samples, one at a time.
class ShardUnpacker {
 public:
  ShardUnpacker(const PackedDataset& dataset, const fs::path& out, Progress& progress,
                std::atomic<std::uint64_t>& bytes)
      : dataset_(dataset), out_(out), progress_(progress), files_(progress, bytes) {}

  void run(std::size_t shard) {
    const auto held = dataset_.index(shard);
    const ShardIndex& index = *held;
    const std::uint64_t first = dataset_.manifest().shards[shard].first_sample;
    std::vector<std::byte> field_bytes;
    for (std::size_t row = 0; row < index.size(); ++row) {
      obey_stop();
      const std::string key(index.key(row));
      const fs::path path = out_ / unpacked_path(dataset_, shard, row);
      files_.write_image(dataset_, first + row, image_file_path(path, index.image(row)), key);
      for (std::size_t field = 0; field < dataset_.fields().size(); ++field) {
        if (dataset_.read_field(first + row, field, field_bytes))
          files_.write(field_path(path, dataset_.fields()[field], key), field_bytes, key);
      }
      ++progress_.samples;
    }
  }

 private:
  const PackedDataset& dataset_;
  const fs::path& out_;
  Progress& progress_;
  FileUnpacker files_;
};

/// Writes the files of each dataset below `out`.
UnpackReport unpack_as_folder(const std::vector<fs::path>& datasets, bool splits,
                              const fs::path& out, Progress& progress) {
  UnpackReport report;
  for (const fs::path& path : datasets) {
    const PackedDataset opened(path);
    progress.total_samples += opened.size();
    const fs::path target = splits ? out / path.filename() : out;
    for (const std::string& name : opened.classes()) make_class_folder(target, name, path);
    std::atomic<std::uint64_t> bytes{0};
    run_parallel(available_cpus(), opened.shards(), [&](std::size_t shard) {
      ShardUnpacker(opened, target, progress, bytes).run(shard);
    });
    report.samples += opened.size();
    report.bytes += bytes;
  }
  return report;
}

}  // namespace

UnpackReport unpack(const fs::path& dataset, const fs::path& out, Progress* progress,
                    std::stop_token stop, UnpackAs as) {
  const StopScope scope(stop);
  Progress unseen;
  if (progress == nullptr) progress = &unseen;
  refuse_url(out.native());
  if (fs::exists(fs::symlink_status(out))) {
    Staging::clear_leftover(out);
    throw Error(ErrorKind::kExists, "the target already exists", out,
                "choose another target, or remove it first");
  }
  const std::vector<fs::path> paths = find_datasets(dataset);
  const bool splits = paths.front() != dataset;
  Staging staging(out, Staging::Hold::kAlone, "unpack\n");
  UnpackReport report;
  try {
    const fs::path data = staging.data("");
    remove_tree(data);  // left by an unpack that was killed
    make_directories(data);
    const UniqueFd file_system = open_for_reading(data);
    report = as == UnpackAs::kFolder ? unpack_as_folder(paths, splits, data, *progress)
                                     : unpack_as_notation(paths, splits, data, as, *progress);
    sync_filesystem(file_system.get(), data);
    staging.publish(false);
  } catch (...) {
    staging.abandon();
    throw;
  }
  return report;
}

}  // namespace packhorse
