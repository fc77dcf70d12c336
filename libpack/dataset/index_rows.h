#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

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

}  // namespace packhorse
