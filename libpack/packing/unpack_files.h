#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "packhorse/base/bytes.h"
#include "packhorse/base/progress.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/packing/unpack.h"

namespace packhorse {

/// Whether a path would lead out of the folder it is relative to.
bool leaves_folder(const std::filesystem::path& path);

/// The path a sample is given. Throws Error(kCorrupt) for one that would leave the target: it comes
/// from a damaged or hostile index.
std::filesystem::path unpacked_path(const PackedDataset& dataset, std::size_t shard,
                                    std::size_t row);

/// The path of an image's file: that of a NumPy file, where it is raw pixels.
std::filesystem::path image_file_path(std::filesystem::path path, const ImageInfo& image);

/// Writes files into a new folder. One thread.
class FileUnpacker {
 public:
  FileUnpacker(Progress& progress, std::atomic<std::uint64_t>& bytes)
      : progress_(progress), bytes_(bytes) {}

  /// Writes a sample's image; raw pixels get the header of a NumPy file.
  void write_image(const PackedDataset& dataset, std::size_t sample,
                   const std::filesystem::path& path, const std::string& key);
  /// Throws Error(kExists) when the path is taken.
  void write(const std::filesystem::path& path, Bytes bytes, const std::string& key);

 private:
  Progress& progress_;
  std::atomic<std::uint64_t>& bytes_;
  std::vector<std::byte> buffer_;
  std::filesystem::path last_directory_;
};

/// Writes datasets, whose names are their splits if there are several or `splits` is set, into the
/// folder `out` as a data set in a notation.
UnpackReport unpack_as_notation(const std::vector<std::filesystem::path>& datasets, bool splits,
                                const std::filesystem::path& out, UnpackAs as, Progress& progress);

}  // namespace packhorse
