#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "listing/entry_table.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/image/image_info.h"
#include "packhorse/listing/inputs.h"

/// The content of a source: its samples as entries, and everything else with the reason why it is
/// not a sample.
namespace packhorse {

/// One split ("train", "val", ...; "" when the source has none) of a listing.
struct SplitListing {
  std::string split;
  /// Its folder in the source; paths of entries are relative to it. Empty if they are relative to
  /// the source, or are not paths in it.
  std::string origin = {};
  EntryTable entries = {};
  std::vector<Reject> rejects = {};  ///< known before any byte is read
  std::vector<Skip> skips = {};
  std::string target_head = {};  ///< TargetRecord::head: splits have annotation files of their own
  bool by_table = false;  ///< a table makes the split, not a folder: paths do not begin with it
  /// The prefix of its paths in reports: its folder in the source, or else its name.
  const std::string& prefix() const { return origin.empty() && !by_table ? split : origin; }
  /// What globs are matched against: a path of an entry or a reject below the split's name, if that
  /// is a folder's.
  std::string glob_path(const std::string& path) const {
    return split.empty() || by_table ? path : split + '/' + path;
  }
};

/// A reason to think that the folders of a source are not classes, or not the right ones.
struct Doubt {
  enum class Kind : std::uint8_t {
    kLayout,        ///< it is unclear what its folders are
    kSplitClasses,  ///< a split has a class that "train" lacks
    kClassName,     ///< a class is called "images", "train", ...
    kEmptySplit,    ///< a split has no image
    kEmptyClass,    ///< a class has no image
    kOneClass       ///< there is only one
  };
  Kind kind;
  std::string what, advice;  ///< as in an Error
};

class SampleTargets;
class ExtraTargets;

/// Everything a source holds. seen = entries + rejects + skips, over all splits and `skips` here.
/// Files taken as extra fields are part of their sample, and not counted as seen.
struct Listing {
  std::vector<std::string> classes;  ///< label -> class name
  std::vector<std::string> fields;   ///< names of the extra fields that occur, sorted; at most 32
  std::vector<SplitListing> splits;
  /// What was detected, if the layout alone shows that the source has annotations; in words.
  std::string detected = {};
  std::vector<Skip> skips;         ///< outside every split
  std::vector<std::string> notes;  ///< what the user should know, in words
  std::vector<Doubt> doubts;       ///< about classes from folders, the most serious first
  /// The targets that the samples have, or will have.
  std::vector<TargetRecord> targets = {};
  /// What packing adds to each sample if targets are requested: the names of those fields, and what
  /// makes them.
  std::vector<std::string> made_fields = {};
  std::shared_ptr<const SampleTargets> made_targets = {};
  std::shared_ptr<const ExtraTargets> made_extras = {};
  /// The fields that a shard has: `fields` and `made_fields`, sorted.
  std::vector<std::string> stored_fields() const;
  std::uint64_t seen() const;
};

/// A sample's bytes as a source hands them out. Reused from sample to sample.
struct Input {
  struct Extra {
    std::size_t field = 0;  ///< place in Listing::fields
    std::vector<std::byte> bytes;
  };
  std::vector<std::byte> bytes;  ///< the image
  /// Asked of a source: so many bytes of an image are enough; 0: all. It may read all the same, and
  /// sets `cut` where it did not.
  std::size_t head = 0;
  bool cut = false;
  ImageInfo image;            ///< kRaw with its size where `bytes` are pixels; else kUnknown
  std::vector<Extra> extras;  ///< in the order of Listing::fields; the first `fields` count
  std::size_t fields = 0;
};

/// Counts the skips under each rule.
std::map<std::string, std::uint64_t> count_by_rule(const std::vector<Skip>& skips);

}  // namespace packhorse
