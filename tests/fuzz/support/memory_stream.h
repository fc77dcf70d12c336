#pragma once

#include <algorithm>

#include "archive/byte_stream.h"

namespace packhorse::fuzz {

/// Hands out bytes in memory, in pieces of any size.
class MemoryStream final : public ByteStream {
 public:
  MemoryStream(Bytes bytes, std::size_t piece, bool skips = false)
      : left_(bytes), piece_(piece), skips_(skips) {}
  Bytes next() override { return take(piece_); }
  std::uint64_t skip(std::uint64_t n) override {
    return skips_ ? take(std::min<std::uint64_t>(n, left_.size())).size() : 0;
  }

 private:
  Bytes take(std::size_t n) {
    const Bytes taken = left_.first(std::min(n, left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }
  Bytes left_;
  std::size_t piece_;
  bool skips_;
};

}  // namespace packhorse::fuzz
