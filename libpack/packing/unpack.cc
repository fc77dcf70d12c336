#include "packhorse/packing/unpack.h"

#include <algorithm>
#include <atomic>

#include "base/parallel.h"
#include "listing/field_names.h"
#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "packhorse/base/resources.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/image/npy.h"
#include "packhorse/packing/pack.h"
#include "packing/staging.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

bool leaves(const fs::path& path) {
  return path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end();
}

/// The path a sample is given. A path that would leave the target comes from a damaged or hostile
/// index.
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
  if (leaves(path) || !path.has_filename()) {
    throw Error(ErrorKind::kCorrupt, "a sample's path would leave the target: " + path.string(),
                dataset.data_path(shard), "do not trust this dataset", key);
  }
  return path;
}

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
  if (leaves(name)) {
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
      : dataset_(dataset), out_(out), progress_(progress), bytes_(bytes) {}

  void run(std::size_t shard, const std::stop_token& stop) {
    const ShardIndex& index = dataset_.index(shard);
    const std::uint64_t first = dataset_.manifest().shards[shard].first_sample;
    for (std::size_t row = 0; row < index.size(); ++row) {
      if (stop.stop_requested()) throw Error(ErrorKind::kInterrupted, "stopped on request");
      key_ = index.key(row);
      fs::path path = out_ / relative_path(dataset_, index, row, shard);
      write_image(first + row, path);
      for (std::size_t field = 0; field < dataset_.fields().size(); ++field) {
        if (dataset_.read_field(first + row, field, buffer_))
          write(field_path(path, dataset_.fields()[field], key_));
      }
      ++progress_.samples;
    }
  }

 private:
  /// Writes an image; raw pixels become a NumPy file in the place of the picture they came from.
  void write_image(std::size_t sample, fs::path path) {
    dataset_.read(sample, buffer_);
    if (const ImageInfo image = dataset_.image(sample); image.kind == ImageKind::kRaw) {
      const std::string header = npy_header(image);
      const Bytes head = as_bytes(header);
      buffer_.insert(buffer_.begin(), head.begin(), head.end());
      path.replace_extension(std::string(extension_of(ImageKind::kRaw)));
    }
    write(path);
  }

  void write(const fs::path& path) {
    if (path.parent_path() != last_directory_) {
      last_directory_ = path.parent_path();
      make_directories(last_directory_);
    }
    if (fs::exists(fs::symlink_status(path))) {
      throw Error(ErrorKind::kExists, "two images or fields have the same path", path, {}, key_);
    }
    write_plain_file(path, buffer_);
    progress_.bytes += buffer_.size();
    bytes_ += buffer_.size();
  }

  const PackedDataset& dataset_;
  const fs::path& out_;
  Progress& progress_;
  std::atomic<std::uint64_t>& bytes_;
  std::vector<std::byte> buffer_;
  fs::path last_directory_;
  std::string key_;
};

}  // namespace

UnpackReport unpack(const fs::path& dataset, const fs::path& out, Progress* progress,
                    std::stop_token stop) {
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
    for (const fs::path& path : paths) {
      const PackedDataset opened(path);
      progress->total_samples += opened.size();
      const fs::path target = splits ? data / path.filename() : data;
      for (const std::string& name : opened.classes()) make_class_folder(target, name, path);
      std::atomic<std::uint64_t> bytes{0};
      run_parallel(available_cpus(), opened.shards(), [&](std::size_t shard) {
        ShardUnpacker(opened, target, *progress, bytes).run(shard, stop);
      });
      report.samples += opened.size();
      report.bytes += bytes;
    }
    sync_filesystem(file_system.get(), data);
    staging.publish(false);
  } catch (...) {
    staging.abandon();
    throw;
  }
  return report;
}

}  // namespace packhorse
