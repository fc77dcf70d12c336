#pragma once

#include <array>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packhorse/base/progress.h"
#include "packhorse/sources/source.h"

/// Decides which of the listed samples are packed, and into which split; runs between listing and
/// planning. Every choice depends only on the source's content, the options and the seed. A sample
/// that is left out becomes a Skip with its rule, so seen = packed + rejected + skipped still
/// holds.
///
///     select(*source, listing, {.limit = 1000}, progress, stop);
namespace packhorse {

struct SelectOptions {
  /// Globs as for fnmatch(3). One without '/' is matched against the file name, one with '/'
  /// against the path in the source (where '*' matches '/', too). With `include`, only files that
  /// match one of its globs are kept; `exclude` always leaves out what it matches.
  std::vector<std::string> include, exclude;
  enum class Duplicates { kKeep, kReport, kDrop };
  /// The treatment of inputs with identical bytes, over all splits. kDrop keeps one of each:
  /// preferably one outside "train", so that no evaluation image is trained on, otherwise the first
  /// by path.
  Duplicates duplicates = Duplicates::kKeep;
  /// Weights of train and val, or of train, val and test: {90, 10}. The image's bytes decide, so
  /// identical images stay together and adding images moves no other. Empty: leave splits as they
  /// are.
  std::vector<unsigned> split;
  std::uint64_t samples_per_class = 0;  ///< at most, in each split; 0 = all
  std::uint64_t limit = 0;              ///< samples at most, in each split; 0 = all
  std::uint64_t seed = 0;               ///< decides which samples the last two options take
  bool in_order = false;                ///< take the first samples instead
  int jobs = 0;                         ///< threads that read; 0 = as many as the process may use

  /// Whether they leave everything as it is.
  bool empty() const;
  /// Parses "90:10". Throws Error(kUsage).
  static std::vector<unsigned> parse_split(const std::string& text);
  void validate() const;
};

inline constexpr std::array<std::pair<std::string_view, SelectOptions::Duplicates>, 2>
    kDuplicatesNames = {{{"report", SelectOptions::Duplicates::kReport},
                         {"drop", SelectOptions::Duplicates::kDrop}}};

/// Inputs with identical bytes.
struct DuplicateGroup {
  struct Member {
    std::string path;  ///< begins with the split
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

/// Applies the options to `listing` in place, in the order above. Reads contents only for
/// duplicates (files of equal size) and for a split (all files). Throws Error(kUsage) when a split
/// is asked of a source that already has splits, Error(kInterrupted).
Selection select(const Source& source, Listing& listing, const SelectOptions& options,
                 Progress& progress, const std::stop_token& stop);

}  // namespace packhorse
