#include "packing/unpack_files.h"

#include <algorithm>

#include "base/file.h"
#include "dataset/shard_index.h"
#include "image/npy.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

bool leaves_folder(const fs::path& path) {
  return path.is_absolute() || std::ranges::find(path, "..") != path.end();
}

fs::path unpacked_path(const PackedDataset& dataset, std::size_t shard, std::size_t row) {
  const auto held = dataset.index(shard);
  const ShardIndex& index = *held;
  const std::string key(index.key(row));
  fs::path path(index.path(row));
  if (path.empty()) {
    const auto label = static_cast<std::size_t>(index.label(row));
    const std::string directory =
        label < dataset.classes().size() ? dataset.classes()[label] : std::to_string(label);
    path = fs::path(directory) / (key + std::string(extension_of(index.image(row).kind)));
  }
  if (leaves_folder(path) || !path.has_filename()) {
    throw Error(ErrorKind::kCorrupt, "a sample's path would leave the target: " + path.string(),
                dataset.data_path(shard), "do not trust this dataset", key);
  }
  return path;
}

fs::path image_file_path(fs::path path, const ImageInfo& image) {
  if (image.kind == ImageKind::kRaw)
    path.replace_extension(std::string(extension_of(ImageKind::kRaw)));
  return path;
}

void FileUnpacker::write_image(const PackedDataset& dataset, std::size_t sample,
                               const fs::path& path, const std::string& key) {
  dataset.read(sample, buffer_);
  if (const ImageInfo image = dataset.image(sample); image.kind == ImageKind::kRaw) {
    const std::string header = npy_header(image);
    const Bytes head = as_bytes(header);
    buffer_.insert(buffer_.begin(), head.begin(), head.end());
  }
  write(path, buffer_, key);
}

void FileUnpacker::write(const fs::path& path, Bytes bytes, const std::string& key) {
  if (path.parent_path() != last_directory_) {
    last_directory_ = path.parent_path();
    make_directories(last_directory_);
  }
  if (fs::exists(fs::symlink_status(path)))
    throw Error(ErrorKind::kExists, "two images or fields have the same path", path, {}, key);
  write_plain_file(path, bytes);
  progress_.bytes += bytes.size();
  bytes_ += bytes.size();
}

}  // namespace packhorse
