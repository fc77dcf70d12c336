#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "packhorse/base/bytes.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/image/image_info.h"

namespace packhorse {

/// Neighbours in a shard are requested together when at most this many bytes are between them. A
/// solid-state disk behind SATA reads that much in the time of one access, so longer gaps are
/// cheaper to skip. One figure serves all storage, because the kind of a disk cannot be found
/// reliably (virtual disks call themselves rotating).
inline constexpr std::uint64_t kJoinedGap = 64u << 10;
/// A request ends with the sample that brings it to this many bytes: long enough for a disk's full
/// speed, and short enough not to hold up the next request.
inline constexpr std::uint64_t kJoinedBytes = 4u << 20;

/// Datasets of more shards, or with more bytes of indexes, open a shard when it is first needed.
inline constexpr std::size_t kShardsAtOnce = 1024;
inline constexpr std::uint64_t kIndexBytesAtOnce = std::uint64_t{256} << 20;

class DatasetDirectory;
class MappedFile;
struct OpenShard;
class ShardIndex;
class ShardPool;

/// A published dataset, opened for reading: manifest, class list, and the shards, each with its
/// index and data file mapped (packhorse/base/mapped_file.h).
///
/// A dataset of up to kShardsAtOnce shards with kIndexBytesAtOnce of indexes opens them all at
/// once, which finds what is missing or damaged in them. A larger one opens a shard when it is
/// first needed, and checks its index block by block (IndexCheck::kAsUsed): opening takes no longer
/// for more samples, and errors come with the sample that needs the file. Such datasets of a
/// process keep at most half of the mappings that the kernel allows (vm.max_map_count) together,
/// and those in a cache half of the open files (RLIMIT_NOFILE); beyond, shards that have not been
/// used for long are closed, and opened again when they are needed.
///
/// Effects on the whole process: the first one installs MappedFile's handler of SIGBUS and fork
/// handlers. Decoding AVIF, HEIC and JPEG XL, as packing and verifying do, sets C's `stderr` to a
/// stand-in meanwhile, which drops what the library writes there and hands on all else.
///
/// A file stays readable if it is removed, or hidden by its permissions, while its shard is open. A
/// file that is cut gives an Error(kIo) with its name as soon as a sample beyond the cut is read.
/// A dataset never names files outside its directory, and no symbolic link on the way to one is
/// followed, except to shards of other tools that `index` adopted. For a dataset at a URL, indexes
/// are copied, and the needed parts of data files. Thread-safe after construction.
class PackedDataset {
 public:
  /// Throws Error(kNotFound) when `path` is no dataset (a staging directory is not one),
  /// Error(kCorrupt) when a piece is missing or does not fit the manifest. A path whose `train/` is
  /// a dataset is refused with advice to name the split.
  explicit PackedDataset(const std::filesystem::path& path);
  PackedDataset(PackedDataset&&) noexcept;
  PackedDataset& operator=(PackedDataset&&) noexcept;
  ~PackedDataset();

  /// Where a sample is: shard and place in it.
  struct Place {
    std::size_t shard;
    std::size_t row;
  };

  const std::filesystem::path& path() const;
  /// For the library itself, as index() is: their types are not installed.
  const DatasetDirectory& directory() const { return *directory_; }
  const Manifest& manifest() const { return manifest_; }
  const std::vector<std::string>& classes() const { return classes_; }
  std::size_t size() const { return manifest_.samples; }
  std::size_t shards() const { return manifest_.shards.size(); }
  /// Whether it is one of those that open shards when they are first needed.
  bool opens_as_needed() const { return !at_once_; }
  /// The shard's index, opened if it is not open; what it hands out stays valid as long as it is
  /// held. Throws Error(kCorrupt | kIo | kNotFound) in a dataset that opens shards as needed.
  std::shared_ptr<const ShardIndex> index(std::size_t shard) const;
  std::filesystem::path data_path(std::size_t shard) const;
  /// Throws Error(kUsage) for a sample number out of range, as all members that take one.
  Place place(std::size_t sample) const;
  /// The name of a sample in messages: its key, or "number 17" if the key is empty.
  std::string name_at(Place place) const;
  /// Sample number of a key; throws Error(kNotFound).
  std::size_t find(std::string_view key) const;

  /// What the index says about the image. Raw images (kRaw) are pixels without a header.
  ImageInfo image(std::size_t sample) const;
  /// Names of the extra fields, sorted; a sample may lack some.
  const std::vector<std::string>& fields() const { return manifest_.fields; }

  /// One image's bytes, with their hash checked. They are in the mapped file or, if the shard is
  /// compressed or at a URL, in memory. They stay while they are held, but no longer than the
  /// dataset. Throws Error(kCorrupt) naming shard and key when the bytes are not the packed ones,
  /// Error(kIo) when the file was truncated.
  BytesLease view(std::size_t sample) const;
  /// Call this after the last use of a view(), while it is held. Throws Error(kIo) when the file
  /// has been truncated meanwhile, so that the view may have shown only a part of the image.
  void check_whole(std::size_t sample) const;
  /// A copy of view() in `out` (resized).
  void read(std::size_t sample, std::vector<std::byte>& out) const;
  /// The same for a field, by its place in fields(). False when the sample has none. After read()
  /// of the same sample on the same thread, nothing is decompressed again.
  bool read_field(std::size_t sample, std::size_t field, std::vector<std::byte>& out) const;

  /// Asks the kernel to load the images of `samples`, which are in ascending order, without waiting
  /// for it. Requests neighbours together, as kJoinedGap and kJoinedBytes say. Returns the bytes
  /// asked for.
  std::uint64_t prefetch(std::span<const std::uint64_t> samples) const;
  /// Estimates the share of the data that is in memory, 0 to 1, by looking at about a hundred
  /// places; 0 if the file system does not say.
  double resident_share() const;
  /// Gives all mapped pages back, so that the kernel is free to drop them; for a dataset at a URL,
  /// drops everything that is kept only in memory.
  void release() const;

 private:
  using ShardPtr = std::shared_ptr<const OpenShard>;
  /// A shard, opened if it is not.
  ShardPtr shard(std::size_t number) const;
  ShardPtr open_shard(std::size_t number) const;
  BytesLease view_range(const OpenShard& shard, Place at, ByteRange range) const;
  BytesLease view_anew(const OpenShard& shard, Place at, ByteRange range) const;
  double remote_share() const;
  [[noreturn]] void refuse_other_bytes(Place at, std::string_view what) const;
  BytesLease frame_content(const OpenShard& shard, Place at) const;
  [[noreturn]] void corrupt(Place at, const std::string& what) const;
  MappedFile map_data(const ShardRecord& record) const;
  std::unique_ptr<const DatasetDirectory> directory_;
  Manifest manifest_;
  std::vector<std::string> classes_;
  std::vector<std::uint64_t> first_samples_;  ///< of the shards
  bool at_once_ = true;                       ///< all shards are opened by the constructor
  std::unique_ptr<ShardPool> pool_;
  std::uint64_t serial_;  ///< never used by another object of the process
};

/// True when `path`, a directory or a URL, holds a dataset.json.
bool is_packed_dataset(const std::filesystem::path& path);

/// The datasets at `path`: itself, or its direct sub-directories that are datasets (splits), in
/// name order. Throws Error(kNotFound) when there is none, Error(kIo) where a sub-directory cannot
/// be looked into.
std::vector<std::filesystem::path> find_datasets(const std::filesystem::path& path);

}  // namespace packhorse
