#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "packhorse/base/reason.h"

/// What a dry run shows of a plan: enough to see wrong labels at a glance, and bounded however
/// large the source is.
namespace packhorse {

struct PackPreview {
  struct Example {
    std::string path;  ///< in the source, as Reject::path
    std::int64_t label = 0;
    std::vector<std::string> fields = {};  ///< the extra fields it has
  };
  struct Split {
    std::string split;
    std::uint64_t samples = 0, bytes = 0, shards = 0;
    std::uint64_t classes_without = 0;  ///< classes of which the split has no sample
    std::vector<Example> examples;      ///< the first, the middle and the last by path
  };
  struct ClassCount {
    std::int64_t label = 0;
    std::uint64_t samples = 0;            ///< over all splits, also those left out
    std::vector<std::uint64_t> by_split;  ///< as `splits`
  };
  struct Reason {
    std::string reason;                                 ///< of the first
    packhorse::Reason code = packhorse::Reason::kNone;  ///< of all; kNone for skips
    std::uint64_t count = 0;
    std::string path;  ///< of the first
  };
  /// The objects that --targets finds in the images.
  struct Targets {
    std::string notation;                 ///< "coco", "yolo", "voc"
    std::vector<std::string> classes;     ///< by label
    std::vector<std::uint64_t> objects;   ///< of each class
    std::uint64_t images = 0, empty = 0;  ///< that can be packed; of them, those without objects
    std::uint64_t polygons = 0, masks = 0, keypoints = 0, crowds = 0;  ///< objects that have such
    std::uint64_t rejected = 0;  ///< images whose annotations cannot be packed
    /// Why, as `rejects`.
    std::vector<Reason> problems;
    std::uint64_t problem_reasons_left_out = 0;
  };
  std::vector<Split> splits;  ///< the first 8
  std::uint64_t splits_left_out = 0;
  /// All classes, by label; of more than 16, the 5 largest and the 5 smallest, by size.
  std::vector<ClassCount> classes;
  std::uint64_t classes_left_out = 0;
  /// The most frequent 10. Rejects whose reasons differ only in their digits count as one.
  std::vector<Reason> rejects, skips;
  std::uint64_t reject_reasons_left_out = 0;
  std::optional<Targets> targets = {};
};

}  // namespace packhorse
