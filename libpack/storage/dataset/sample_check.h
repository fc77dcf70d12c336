#pragma once

#include <cstdint>
#include <vector>

#include "packhorse/base/bytes.h"

namespace packhorse {

class ShardIndex;

/// Knows the hashes of what lies in a shard's data file, so that bytes can be checked as they
/// arrive. Any thread. Memory: 4 bytes a sample where these do not lie in the order of the index.
class SampleCheck {
 public:
  explicit SampleCheck(const ShardIndex& index);
  /// Whether all images and fields that lie in `range` as a whole have their hashes. Frames of
  /// compressed shards and what lies between samples are not looked at: whoever reads them does.
  bool fits(ByteRange range, Bytes bytes) const;

 private:
  std::size_t row_at(std::size_t place) const { return order_.empty() ? place : order_[place]; }
  bool fits_row(std::size_t row, ByteRange range, Bytes bytes) const;

  const ShardIndex& index_;
  std::vector<std::uint32_t> order_;  ///< rows by their image's place; empty: as they are
};

}  // namespace packhorse
