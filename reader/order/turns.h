#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/permutation.h"

namespace packhorse::reader {

/// Which of several groups has its turn at each position of an epoch. Each group has an exact
/// number of turns, its quota, evenly spread over blocks of positions; within a block, the groups
/// come in random order. Takes up to 1.5 MiB, or 20 bytes a group. Value type; thread-safe.
class Turns {
 public:
  struct Turn {
    std::size_t group;
    std::uint64_t number;  ///< how many turns the group had in earlier blocks and, counted in no
                           ///< order of time, in this one
  };

  /// `block`: how many positions a block has at least, about, unless there are fewer.
  Turns(std::vector<std::uint64_t> quotas, std::uint64_t block, std::uint64_t key);

  Turn at(std::uint64_t position) const;
  /// The first position after the block of `position`.
  std::uint64_t block_end(std::uint64_t position) const;
  /// Turns of each group among the positions before `position`.
  std::vector<std::uint64_t> before(std::uint64_t position) const;
  std::uint64_t quota(std::size_t group) const { return quotas_[group]; }

 private:
  std::size_t block_of(std::uint64_t position) const;
  std::uint64_t turns_before_block(std::size_t group, std::size_t block) const;

  std::vector<std::uint64_t> quotas_;
  std::vector<std::uint64_t> phases_;  ///< by which rare groups come in different blocks
  std::vector<std::uint64_t> begins_;  ///< of the blocks, and the end
  std::vector<std::uint32_t> ends_;    ///< of the groups' places in each block
  std::vector<Permutation> mixes_;     ///< of the places of each block
};

/// How often each group comes in `positions` positions by its weight: rounded down or up, by `key`,
/// and `positions` together (systematic sampling).
std::vector<std::uint64_t> quotas_of(std::span<const double> weights, std::uint64_t positions,
                                     std::uint64_t key);

}  // namespace packhorse::reader
