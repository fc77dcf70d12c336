#pragma once

#include <cstdint>
#include <vector>

namespace packhorse {

/// One bar of a histogram: how many values are in [begin, end).
struct Bin {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t count = 0;
  friend bool operator==(const Bin&, const Bin&) = default;
};

/// Counts whole numbers of any size in bounded memory (240 KiB at most): each value below 2048 by
/// itself, larger ones in groups of 1/1024 to 1/512 of their size. One thread.
///
///     ValueCounts sides;
///     for (...) sides.add(side);
///     sides.median();  // exact below 2048
///     sides.bins(8);   // for a histogram
class ValueCounts {
 public:
  void add(std::uint64_t value);
  /// Adds all values of `others`.
  void add(const ValueCounts& others);

  std::uint64_t size() const { return size_; }
  std::uint64_t least() const { return least_; }  ///< exact; 0 when there is none
  std::uint64_t most() const { return most_; }
  /// The value below which `share` (0 to 1) of the values are, never outside [least, most]; if
  /// values are grouped, the first of the group. 0 when there are no values.
  std::uint64_t quantile(double share) const;
  std::uint64_t median() const { return quantile(0.5); }

  /// A histogram for people to read. Bars of equal width, a power of two, cover the middle 96 % of
  /// the values, and one bar on either side, which may be wider, covers the rest. Values that
  /// spread over more than five octaves get bars that double in width. There are about `wanted`
  /// bars; they are adjacent, begin at least() and end just past most(), and their counts are
  /// exact.
  std::vector<Bin> bins(std::size_t wanted) const;

 private:
  std::vector<std::uint64_t> counts_;  ///< by group
  std::uint64_t size_ = 0, least_ = 0, most_ = 0;
};

}  // namespace packhorse
