#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace packhorse::trainer {

/// The objects of a batch, each picture with as many rows as the one with the most objects.
struct TrueBoxes {
  at::Tensor boxes;   ///< float [B, G, 4]: centre x, y, width, height in pixels
  at::Tensor labels;  ///< int64 [B, G]
  at::Tensor real;    ///< bool [B, G]: false for rows that only fill up, behind the others
  std::vector<std::int64_t> counts;  ///< B: how many rows of each picture are real
};

/// Pairs of a place and an object that are looked at together: 64 MiB for each number of a pair.
constexpr std::int64_t kMostPairs = std::int64_t{1} << 24;

/// The same, in parts of consecutive pictures that have at most `most_pairs` rows times `places`,
/// or of a single picture: what is worked out for each place and object then fits into memory
/// unless one picture's alone does not. No more rows than a part needs.
std::vector<TrueBoxes> parts_of(const TrueBoxes& truth, std::int64_t places,
                                std::int64_t most_pairs = kMostPairs);

}  // namespace packhorse::trainer
