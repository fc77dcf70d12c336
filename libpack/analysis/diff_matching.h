#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/diff_side.h"
#include "base/external_sort.h"

namespace packhorse {

/// Finds which sample of B each sample of A is, as diff_datasets() says. Memory: a bit a sample,
/// and what is sorted, as far as `memory` allows.
class DiffMatching {
 public:
  /// A sample of A and the same one of B.
  struct Pair {
    std::uint64_t a, b;
    bool operator<(const Pair& other) const { return a < other.a; }
  };

  DiffMatching(const DiffSide& a, const DiffSide& b, std::uint64_t memory,
               std::filesystem::path scratch);

  /// The pairs, in the order of A. Once.
  ExternalSort<Pair>::Cursor pairs() { return pairs_.sorted(); }
  bool is_paired_in_b(std::uint64_t sample) const { return in_b_[sample]; }

 private:
  /// What a sample is known by in one of the rounds: 128 bits.
  struct Name {
    std::uint64_t first, second, sample;
    bool operator<(const Name& other) const;
  };
  using NameOf = std::optional<std::pair<std::uint64_t, std::uint64_t>> (*)(const DiffSide::Row&);
  ExternalSort<Name> names(const DiffSide& side, const std::vector<bool>& paired,
                           NameOf name_of) const;
  /// Pairs those left over on both sides that have the same name, in order.
  void match(NameOf name_of);

  const DiffSide& a_;
  const DiffSide& b_;
  const std::uint64_t memory_;
  const std::filesystem::path scratch_;
  std::vector<bool> in_a_, in_b_;  ///< those that are paired
  ExternalSort<Pair> pairs_;
};

}  // namespace packhorse
