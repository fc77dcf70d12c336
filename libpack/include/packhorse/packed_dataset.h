#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "packhorse/bytes.h"
#include "packhorse/file.h"
#include "packhorse/manifest.h"
#include "packhorse/shard_index.h"

namespace packhorse {

/// A published dataset, opened for reading: manifest, class list and every index (mapped); data
/// files are open, their bytes are read on demand. Thread-safe after construction.
class PackedDataset {
 public:
  /// Throws Error(kNotFound) when `path` is no dataset (a staging directory is none),
  /// Error(kCorrupt) when a piece is missing or does not fit the manifest. A path whose `train/` is
  /// a dataset is refused with advice to name the split.
  explicit PackedDataset(const std::filesystem::path& path);

  /// Where a sample lies: shard and place in it.
  struct Place {
    std::size_t shard;
    std::size_t row;
  };

  const std::filesystem::path& path() const { return path_; }
  const Manifest& manifest() const { return manifest_; }
  const std::vector<std::string>& classes() const { return classes_; }
  std::size_t size() const { return manifest_.samples; }
  std::size_t shards() const { return shards_.size(); }
  const ShardIndex& index(std::size_t shard) const { return shards_[shard].index; }
  int fd(std::size_t shard) const { return shards_[shard].data.get(); }
  std::filesystem::path data_path(std::size_t shard) const;
  Place place(std::size_t sample) const;
  /// Sample number of a key; throws Error(kNotFound).
  std::size_t find(std::string_view key) const;

  /// What the index says of the image. Raw ones (kRaw) are pixels without a header.
  ImageInfo image(std::size_t sample) const;
  /// Names of the extra fields, sorted; a sample may lack some.
  const std::vector<std::string>& fields() const { return manifest_.fields; }

  /// Reads one image's bytes into `out` (resized) and checks its hash. Throws Error(kCorrupt)
  /// naming shard and key when the bytes are not the ones that were packed.
  void read(std::size_t sample, std::vector<std::byte>& out) const;
  /// The same for a field, by its place in fields(). False when the sample has none. After read()
  /// of the same sample on the same thread, nothing is decompressed again.
  bool read_field(std::size_t sample, std::size_t field, std::vector<std::byte>& out) const;

 private:
  void read_range(Place at, ByteRange range, std::vector<std::byte>& out) const;
  Bytes frame_content(Place at) const;
  [[noreturn]] void corrupt(Place at, const std::string& what) const;
  struct Shard {
    ShardIndex index;
    UniqueFd data;
  };
  std::filesystem::path path_;
  Manifest manifest_;
  std::vector<std::string> classes_;
  std::vector<Shard> shards_;
  std::uint64_t serial_;  ///< of this object; no other in the process has had it
};

/// True when `path` holds a dataset.json.
bool is_packed_dataset(const std::filesystem::path& path);

/// The datasets at `path`: itself, or its direct sub-directories that are datasets (splits), in
/// name order. Throws Error(kNotFound) when there is none.
std::vector<std::filesystem::path> find_datasets(const std::filesystem::path& path);

}  // namespace packhorse
