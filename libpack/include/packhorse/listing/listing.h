#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "packhorse/base/reason.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/image/image_info.h"
#include "packhorse/listing/entry_table.h"

/// What a source holds: its samples as entries, and everything else with the reason why it is no
/// sample.
namespace packhorse {

/// One input that does not become a sample although it looks like one, and why.
struct Reject {
  Reject(std::string where, Problem why)
      : path(std::move(where)), code(why.code), reason(std::move(why.text)) {}
  std::string path;  ///< relative to the source, as printable() writes it
  Reason code;
  std::string reason;  ///< in words
};

/// One input that a rule passes over, which is no failure.
struct Skip {
  std::string path;       ///< as Reject::path
  std::string_view rule;  ///< a constant, e.g. "not a regular file"
};

/// One split ("train", "val", ...; "" when the source has none) of a listing.
struct SplitListing {
  std::string split;
  /// Its folder in the source, which entries' paths are relative to. Empty where they are relative
  /// to the source, or are not paths in it.
  std::string origin = {};
  EntryTable entries = {};
  std::vector<Reject> rejects = {};  ///< known before any byte is read
  std::vector<Skip> skips = {};
  std::string target_head = {};  ///< TargetRecord::head: splits have annotation files of their own
  /// What reports put before its paths: its folder in the source, or else its name.
  const std::string& prefix() const { return origin.empty() ? split : origin; }
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
  std::string what, advice;  ///< as an Error has them
};

class SampleTargets;
class ExtraTargets;

/// Everything a source holds. seen = entries + rejects + skips, over all splits and `skips` here.
/// Files taken as extra fields are part of their sample, and not counted as seen.
struct Listing {
  std::vector<std::string> classes;  ///< label -> class name
  std::vector<std::string> fields;   ///< names of the extra fields that occur, sorted; at most 32
  std::vector<SplitListing> splits;
  /// What the source was taken for, where its layout alone says that it has annotations; in words.
  std::string detected = {};
  std::vector<Skip> skips;         ///< outside every split
  std::vector<std::string> notes;  ///< what the user should know, in words
  std::vector<Doubt> doubts;       ///< about classes told by folders, the gravest first
  /// The targets that the samples have, or will have.
  std::vector<TargetRecord> targets = {};
  /// What packing adds to each sample, where targets are asked for: the names of those fields, and
  /// what makes them.
  std::vector<std::string> made_fields = {};
  std::shared_ptr<const SampleTargets> made_targets = {};
  std::shared_ptr<const ExtraTargets> made_extras = {};
  /// The fields that a shard has: `fields` and `made_fields`, sorted.
  std::vector<std::string> stored_fields() const;
  std::uint64_t seen() const;
};

/// An extra field whose files lie elsewhere in the source than beside the images.
struct FieldPlace {
  std::string name;
  /// A folder whose folders are those of the images, or a pattern of paths: docs/annotations.md,
  /// "Files in other folders".
  std::string pattern;
  bool required = true;  ///< an image without its file is rejected
};

/// Which of a sample's companions are taken as extra fields.
/// The dot at which the key of a WebDataset member ends: v1 or v1.00 for v1.00.jpg.
enum class KeyDot { kFirst, kLast };
/// Parses "first" and "last". Throws Error(kUsage).
KeyDot parse_key_dot(const std::string& text);

struct FieldChoice {
  /// Unset: what the source brings by itself (folders and archives none; a manifest file its
  /// further columns; shards all they hold). A list: just these; an empty list: none.
  std::optional<std::vector<std::string>> names = {};
  /// Further fields of a folder or an archive, by where their files lie.
  std::vector<FieldPlace> places = {};
  /// WebDataset shards: which members are fields of which sample. Unset: each sample's members
  /// tell, or it is refused.
  std::optional<KeyDot> key_dot = {};

  /// Parses "json,seg.png"; "none" is an empty list. Throws Error(kUsage).
  static FieldChoice parse(const std::string& text);
};

/// A sample's bytes as a source hands them out. Reused from sample to sample.
struct Input {
  struct Extra {
    std::size_t field = 0;  ///< place in Listing::fields
    std::vector<std::byte> bytes;
  };
  std::vector<std::byte> bytes;  ///< the image
  ImageInfo image;               ///< kRaw with its size where `bytes` are pixels; else kUnknown
  std::vector<Extra> extras;     ///< in the order of Listing::fields; the first `fields` count
  std::size_t fields = 0;
};

/// Counts the skips under each rule.
std::map<std::string, std::uint64_t> count_by_rule(const std::vector<Skip>& skips);

}  // namespace packhorse
