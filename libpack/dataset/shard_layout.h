#pragma once

#include <string>
#include <vector>

#include "packhorse/base/bytes.h"

namespace packhorse {

/// Marks a missing range.
inline constexpr ByteRange kAbsent{~std::uint64_t{0}, 0};

/// A piece of a compressed shard that is decompressed as a whole.
struct Frame {
  ByteRange stored;   ///< in the file
  ByteRange content;  ///< in the decompressed shard
  friend bool operator==(const Frame&, const Frame&) = default;
};

/// Where everything is in a finished shard, in the order of add(). Ranges refer to the file or,
/// when there are frames, to the decompressed file.
struct ShardLayout {
  std::vector<ByteRange> images;
  std::vector<ByteRange> fields =
      {};  ///< ShardSpec::fields.size() per sample; kAbsent where it has none
  std::vector<Frame> frames = {};  ///< one per sample; empty when the shard is not compressed
  std::string sha256 =
      {};  ///< of the file; empty when the writer cannot tell without reading it again
};

}  // namespace packhorse
