#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace packhorse::reader {

/// Draws numbers by weight in constant time, from 8 bytes a number: Walker's alias method (1977),
/// built in one sweep without further memory (Hübschle-Schneider, Sanders 2019). Value type;
/// thread-safe.
class AliasTable {
 public:
  AliasTable() = default;
  /// `weights` are checked (check_weights()), and fewer than 2^32.
  explicit AliasTable(std::span<const double> weights);
  /// The number that 64 random bits draw. A weight of 0 is never drawn.
  std::uint64_t draw(std::uint64_t bits) const;
  std::size_t size() const { return cells_.size(); }

 private:
  struct Cell {
    std::uint32_t threshold;  ///< of 2^32: below it, the cell's own number
    std::uint32_t alias;      ///< otherwise
  };
  std::vector<Cell> cells_;
};

}  // namespace packhorse::reader
