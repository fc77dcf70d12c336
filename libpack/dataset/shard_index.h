#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/shard_layout.h"
#include "packhorse/base/mapped_file.h"
#include "packhorse/image/image_info.h"

/// The sidecar of a shard: where each sample's bytes are, and what is known about them. Layout on
/// disk (all numbers little-endian; drawn in full in docs/formats/index.md):
///
///     +--------------------+ 0
///     | header, 64 bytes   |  magic "PHINDEX1", section count, samples, size of the data file,
///     |                    |  XXH3 of the rest
///     +--------------------+ 64
///     | section table      |  {id u32, flags u32, offset u64, length u64} each
///     +--------------------+ aligned to 64
///     | sections, columns  |  ranges, hashes, labels, images, keys, paths; fields; frames; sums
///     +--------------------+ end of file
///
/// A reader ignores sections it does not know, unless their flag says that it must not.
namespace packhorse {

class DatasetDirectory;
class IndexRows;
struct Manifest;
struct ShardRecord;

/// One row of an index, as it is added.
struct IndexEntry {
  ByteRange range;         ///< the stored bytes in the data file
  std::uint64_t hash = 0;  ///< xxh3 of the image bytes
  std::int64_t label = 0;
  ImageInfo image;
  std::string key;
  std::string path;  ///< of the source file, relative to the source; empty when unknown
  /// One for each field name the writer was made with; kAbsent where the sample has none.
  std::vector<ByteRange> fields = {};
  std::vector<std::uint64_t> field_hashes =
      {};            ///< xxh3 of each field's bytes; 0 where it is absent
  Frame frame = {};  ///< set in a compressed shard, else untouched
};

class ShardIndexWriter {
 public:
  /// `fields`: names of the extra fields, sorted. `compressed`: entries have frames.
  explicit ShardIndexWriter(std::vector<std::string> fields = {}, bool compressed = false);
  /// Reserves memory for `entries` entries whose paths take `path_bytes` bytes in all.
  void reserve(std::size_t entries, std::size_t path_bytes);
  /// Throws Error(kUsage) unless the entry has a range and a hash for each field.
  void add(const IndexEntry& entry);
  /// The same for an entry whose ranges and frame are not known yet; place() sets them for all
  /// entries.
  void add_unplaced(const IndexEntry& entry);
  /// Throws Error(kUsage) when the layout has another number of samples.
  void place(ShardLayout&& layout);
  std::size_t size() const { return labels_.size(); }
  /// Hands out the file's bytes, piece by piece. `data_bytes`: size of the data file the index
  /// belongs to.
  void write(std::uint64_t data_bytes, const std::function<void(Bytes)>& out) const;
  /// The same bytes in one string.
  std::string serialise(std::uint64_t data_bytes) const;

 private:
  struct Column;
  std::vector<std::uint64_t> block_sums() const;
  std::vector<ByteRange> ranges_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::int64_t> labels_;
  std::vector<std::byte> images_;
  std::vector<std::uint64_t> key_ends_, path_ends_;
  std::string keys_, paths_;
  std::vector<std::string> fields_;
  std::vector<ByteRange> field_ranges_;
  std::vector<std::uint64_t> field_hashes_;
  std::vector<Frame> frames_;
  bool compressed_ = false;
};

/// When the rows of an index are checked.
enum class IndexCheck : std::uint8_t {
  kAll,     ///< all of them when it is opened
  kAsUsed,  ///< a block of some hundred rows when one of them is first asked for, where the file
            ///< has checksums of blocks (those of small indexes have none, and are checked as a
            ///< whole)
};

/// A mapped index. Before a row is returned, its checksum and every bound are checked, so that no
/// accessor can read outside. Each image must be of a known kind and have pixels, raw images must
/// have as many bytes as their size says, and no label may be negative. why_not_of() says whether
/// the index belongs to a dataset; only decoders can say whether an image is as the index describes
/// it. With IndexCheck::kAsUsed, accessors of rows throw Error(kCorrupt | kIo) where the
/// constructor would have. Thread-safe; views live as long as the object. Memory: the file's pages
/// that are looked at, which the kernel can drop again. Once the file is truncated while it is
/// open, accessors of rows throw Error(kIo), and truncated() says so. They throw Error(kUsage) for
/// a row out of range.
class ShardIndex {
 public:
  /// Throws Error(kNotFound | kCorrupt | kUnsupported).
  explicit ShardIndex(const std::filesystem::path& path);
  /// Maps an open file, which may be closed afterwards; `path` is for messages.
  ShardIndex(int fd, const std::filesystem::path& path, IndexCheck check = IndexCheck::kAll);

  /// From then on, a row with another label is refused when it is checked. Call it before rows are
  /// asked for.
  void expect_labels_below(std::int64_t classes) { label_limit_ = classes; }
  /// Why this cannot be the index of that shard of a dataset, in words; nothing when it can. Every
  /// label of the rows that have been checked is then one of the dataset's classes.
  std::optional<std::string> why_not_of(const ShardRecord& record, const Manifest& manifest) const;

  std::size_t size() const { return samples_; }
  std::uint64_t data_bytes() const { return data_bytes_; }
  /// The image's range in the data file or, when that is compressed, in its decompressed content.
  ByteRange range(std::size_t i) const { return whole(ranges_[checked(i)]); }
  std::uint64_t hash(std::size_t i) const { return whole(hashes_[checked(i)]); }
  std::int64_t label(std::size_t i) const { return whole(labels_[checked(i)]); }
  ImageInfo image(std::size_t i) const { return whole(stored_image(checked(i))); }
  std::string_view key(std::size_t i) const { return whole(text(key_ends_, keys_, checked(i))); }
  std::string_view path(std::size_t i) const { return whole(text(path_ends_, paths_, checked(i))); }

  /// Names of the extra fields, sorted.
  const std::vector<std::string>& fields() const { return fields_; }
  /// Like range(), for a field by its place in fields(); kAbsent where the sample has none.
  ByteRange field_range(std::size_t i, std::size_t field) const {
    return whole(field_ranges_[checked(i) * fields_.size() + field]);
  }
  bool has_field(std::size_t i, std::size_t field) const {
    return field_range(i, field).offset != kAbsent.offset;
  }
  std::uint64_t field_hash(std::size_t i, std::size_t field) const {
    return whole(field_hashes_[checked(i) * fields_.size() + field]);
  }

  /// Whether samples are in frames, which are read and decompressed as a whole.
  bool compressed() const { return compressed_; }
  /// The sample's frame; only when compressed. All ranges of the sample are in its content.
  Frame frame(std::size_t i) const { return whole(frames_[checked(i)]); }

  bool truncated() const { return file_.truncated(); }

 private:
  struct Sections;
  void read_columns(const Sections& sections);
  void read_fields(const Sections& sections);
  void read_sums(const Sections& sections);
  IndexRows rows() const;
  /// Everything but the order of texts.
  void check_rows(std::size_t first, std::size_t behind) const;
  void check_ranges(std::size_t first, std::size_t behind) const;
  void check_images(std::size_t first, std::size_t behind) const;
  void check_labels(std::size_t first, std::size_t behind) const;
  void check_block_of(std::size_t row) const;
  [[noreturn]] void refuse_row(std::size_t i) const;
  [[noreturn]] void refuse_cut() const;
  /// `value`, which was read while the file was whole.
  template <class T>
  T whole(T value) const {
    if (file_.truncated()) [[unlikely]]
      refuse_cut();
    return value;
  }
  /// `i`, a row that is checked.
  std::size_t checked(std::size_t i) const {
    if (i >= samples_) [[unlikely]]
      refuse_row(i);
    if (blocks_) [[unlikely]]
      check_block_of(i);
    return i;
  }
  ImageInfo stored_image(std::size_t i) const;
  static std::string_view text(std::span<const std::uint64_t> ends, std::string_view all,
                               std::size_t i) {
    const std::uint64_t begin = i == 0 ? 0 : ends[i - 1];
    return all.substr(begin, ends[i] - begin);
  }
  MappedFile file_;
  std::filesystem::path path_;
  std::size_t samples_ = 0;
  std::uint64_t data_bytes_ = 0;
  std::span<const ByteRange> ranges_;
  std::span<const std::uint64_t> hashes_;
  std::span<const std::int64_t> labels_;
  Bytes images_;
  std::span<const std::uint64_t> key_ends_, path_ends_;
  std::string_view keys_, paths_;
  std::vector<std::string> fields_;
  std::span<const ByteRange> field_ranges_;
  std::span<const std::uint64_t> field_hashes_;
  std::span<const Frame> frames_;
  bool compressed_ = false;
  std::int64_t label_limit_ = std::numeric_limits<std::int64_t>::max();
  std::span<const std::uint64_t> sums_;  ///< of the blocks
  /// Whether each block has been checked; null: all have.
  std::unique_ptr<std::atomic<bool>[]> blocks_;
};

/// Opens the index of a shard. Throws Error(kCorrupt) when it does not fit the manifest.
ShardIndex open_index(const DatasetDirectory& dataset, const ShardRecord& record,
                      const Manifest& manifest, IndexCheck check = IndexCheck::kAll);

}  // namespace packhorse
