#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "packhorse/base/progress.h"
#include "packhorse/sources/source.h"

/// Which of the listed samples are packed, and into which split: between listing and plan. Every
/// choice is a function of the source's content, the options and the seed alone. What is left out
/// becomes a Skip with its rule, so that seen = packed + rejected + skipped still holds.
///
///     select(*source, listing, {.limit = 1000}, progress, stop);
namespace packhorse {

struct SelectOptions {
  /// Globs as of fnmatch(3): one without '/' is held against the file name, one with it against the
  /// path in the source ('*' matches '/' too). With `include`, what none of them matches is left
  /// out; what one of `exclude` matches always is.
  std::vector<std::string> include, exclude;
  enum class Duplicates { kKeep, kReport, kDrop };
  /// Inputs of identical bytes, over all splits. kDrop keeps one of each: one outside of "train"
  /// where there is one, so that no evaluation image is trained on, then the first by path.
  Duplicates duplicates = Duplicates::kKeep;
  /// Weights of train and val, or train, val and test: {90, 10}. Decided by the image's bytes, so
  /// that identical images never come apart and adding others moves none. Empty: splits as they
  /// are.
  std::vector<unsigned> split;
  std::uint64_t samples_per_class = 0;  ///< at most, in each split; 0 = all
  std::uint64_t limit = 0;              ///< samples at most, in each split; 0 = all
  std::uint64_t seed = 0;               ///< decides which samples these two take
  bool in_order = false;                ///< they take the first ones instead
  int jobs = 0;                         ///< threads that read; 0 = as many as the process may use

  /// "90:10". Throws Error(kUsage).
  static std::vector<unsigned> parse_split(const std::string& text);
  void validate() const;
};

/// Inputs of identical bytes.
struct DuplicateGroup {
  struct Member {
    std::string path;  ///< with the split before it
    std::int64_t label = 0;
    bool dropped = false;
  };
  std::vector<Member> members;
  bool across_splits = false;
  bool across_classes = false;
};

struct Selection {
  std::vector<DuplicateGroup> duplicates;  ///< by the path of the first member
  std::vector<std::string> notes;          ///< for the summary
};

/// Applies everything to `listing` in place, in the order of the options above. Reads contents only
/// for duplicates (files of equal size) and split (all). Throws Error(kUsage) when a split is asked
/// of a source that has splits, Error(kInterrupted).
Selection select(const Source& source, Listing& listing, const SelectOptions& options,
                 Progress& progress, const std::stop_token& stop);

}  // namespace packhorse
