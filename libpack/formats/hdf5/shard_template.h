#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "packhorse/base/bytes.h"
#include "packhorse/image/image_info.h"

namespace packhorse::hdf5 {

/// All that a shard holds except the bytes of its images and fields.
struct Columns {
  struct FieldColumn {
    std::string name;
    std::vector<std::uint64_t> offsets{0};
    std::vector<std::uint8_t> present;
  };
  std::optional<ImageInfo> raw;  ///< the size of every image, when they are pixels
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::int64_t> labels;
  std::string keys;
  std::vector<std::uint64_t> key_ends;
  std::vector<FieldColumn> fields;
  std::size_t size() const { return labels.size(); }
  void add(std::string_view key, std::int64_t label, std::uint64_t image_bytes);
  /// Removes all samples, and keeps their memory. Not for columns with fields.
  void clear_samples() {
    offsets.resize(1);
    labels.clear();
    keys.clear();
    key_ends.clear();
  }
};

/// Where a shard's big columns lie in its file.
struct Places {
  ByteRange images;
  std::vector<ByteRange> fields;  ///< of each field's data; length 0 where there is none
};

/// A file in memory in which HDF5 lays out a shard. It cannot meet a full disk, which the library
/// takes badly, and no other process can meet it. One thread.
class ShardTemplate {
 public:
  /// `shard` is for messages.
  explicit ShardTemplate(std::filesystem::path shard);

  /// Lets HDF5 write the whole shard except the bytes of its images and fields, which stay holes
  /// and take no memory. The images' place depends only on their kind and size: they are the first
  /// object with storage.
  Places lay_out(const Columns& columns, const std::vector<std::string>& classes);

  int fd() const { return fd_.get(); }

 private:
  std::filesystem::path shard_;
  UniqueFd fd_;
};

}  // namespace packhorse::hdf5
