#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "packhorse/base/progress.h"
#include "packhorse/dataset/packed_dataset.h"

/// Finds images that occur more than once in datasets: byte by byte, or to the eye.
///
///     const PackedDataset train("packed/train"), val("packed/val");
///     DuplicateReport report = find_duplicates({{&train, &val}}, {});
namespace packhorse {

/// The largest distance of perceptual hashes, in bits, that can be searched without comparing all
/// pairs.
inline constexpr int kMostDistance = 7;

struct DuplicateSearch {
  /// How many of the 64 bits of two images' perceptual hashes may differ, at most kMostDistance.
  /// All hashes have 32 bits set, so distances are even. Among a million unrelated images with
  /// random bits, about 7 pairs differ by 6 bits or less.
  int max_distance = 6;
  bool identical_only = false;  ///< compare bytes alone, by the indexes' hashes; decode nothing
  int jobs = 0;                 ///< threads; 0 = as many as the process may use
  /// Memory for sorting the hashes in the indexes; the rest goes to an unnamed file in the system's
  /// directory for temporary files.
  std::uint64_t memory = std::uint64_t{1} << 30;
  ImageLimits limits = {};  ///< an image beyond them counts as one that cannot be decoded
};

/// Images that are identical or look alike, each linked in one of these ways to another of the set.
struct DuplicateSet {
  struct Member {
    std::size_t dataset;  ///< index of its dataset among those searched
    std::size_t sample;
    int distance;    ///< of its perceptual hash from the first member's; 0 where there is none
    bool identical;  ///< has the first member's bytes
  };
  std::vector<Member> members;  ///< by dataset, then sample; two or more
  bool identical = true;        ///< all of them have the same bytes
  bool across_datasets = false;
  bool across_classes = false;  ///< their classes' names differ
};

struct DuplicateReport {
  std::vector<DuplicateSet> sets;  ///< in the order of their first members
  std::uint64_t samples = 0;       ///< that were compared
  std::uint64_t featureless = 0;   ///< without a perceptual hash, compared by bytes only
};

/// Compares all images of all datasets with each other. Identical images are found by length and
/// XXH3 in the indexes and confirmed byte by byte; similar ones by their hashes
/// (perceptual_hash.h). All pairs up to the distance are found: hashes that differ by up to 7 bits
/// agree within one bit in one of their four bands of 16. Memory: about 60 bytes per sample, or
/// with `identical_only` just `memory` and the sets. Throws Error(kUsage) for a distance beyond
/// kMostDistance, Error(kCorrupt | kUnsupported) naming shard and key for an image that is damaged
/// or cannot be decoded, Error(kInterrupted).
DuplicateReport find_duplicates(std::span<const PackedDataset* const> datasets,
                                const DuplicateSearch& search, Progress* progress = nullptr,
                                std::stop_token stop = {});

}  // namespace packhorse
