#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "dataset/shard_layout.h"
#include "packhorse/base/bytes.h"

namespace packhorse {

/// Rows of an index that share a checksum (docs/formats/index.md).
inline constexpr std::size_t kBlockRows = 256;

/// Everything that an index says of its rows, column by column. Holds views.
class IndexRows {
 public:
  /// A column with `width` bytes for each row.
  void add(Bytes column, std::size_t width) { columns_.push_back({column, width}); }
  /// A column of texts, and where each of them ends.
  void add_text(std::span<const std::uint64_t> ends, std::string_view texts) {
    add(std::as_bytes(ends), sizeof(std::uint64_t));
    texts_.push_back({ends, texts});
  }
  /// Whether the texts of rows [first, behind) lie one after another among all.
  bool in_order(std::size_t first, std::size_t behind) const;
  /// XXH3 of rows [first, behind), whose texts are in order.
  std::uint64_t sum(std::size_t first, std::size_t behind) const;

 private:
  struct Column {
    Bytes bytes;
    std::size_t width;
  };
  struct Texts {
    std::span<const std::uint64_t> ends;
    std::string_view all;
    std::uint64_t begin(std::size_t row) const { return row == 0 ? 0 : ends[row - 1]; }
  };
  std::vector<Column> columns_;
  std::vector<Texts> texts_;
};

/// The columns of an index, as a writer has them and as they are stored.
struct IndexColumns {
  std::span<const ByteRange> ranges;
  std::span<const std::uint64_t> hashes;
  std::span<const std::int64_t> labels;
  Bytes images;  ///< kImageRowBytes each
  std::span<const std::uint64_t> key_ends, path_ends;
  std::string_view keys, paths;
  std::size_t fields = 0;  ///< of each row
  std::span<const ByteRange> field_ranges;
  std::span<const std::uint64_t> field_hashes;
  std::span<const Frame> frames;  ///< empty unless the shard is compressed

  static constexpr std::size_t kImageRowBytes = 12;
  /// In the order in which a block's checksum takes them.
  IndexRows rows() const;
};

}  // namespace packhorse
