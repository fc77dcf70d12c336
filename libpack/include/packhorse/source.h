#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "packhorse/bytes.h"
#include "packhorse/entry_table.h"
#include "packhorse/image_info.h"

/// Where samples come from. A source lists what there is once (`list`), then hands out bytes
/// (`read`).
///
///     auto source = open_source("imagenet");
///     Listing listing = source->list({});
///     Input input;
///     source->read(listing.splits[0], 17, input);
namespace packhorse {

/// One input that does not become a sample although it looks like one, and why.
struct Reject {
  std::string path;  ///< relative to the source, as printable() writes it
  std::string reason;
};

/// One input that is passed over by a rule, which is no failure.
struct Skip {
  std::string path;       ///< as Reject::path
  std::string_view rule;  ///< a constant, e.g. "not a regular file"
};

/// One split ("train", "val", ...; "" when the source has none) of a listing.
struct SplitListing {
  std::string split;
  /// Where it lies in the source: entries' paths are relative to this folder. Empty where they are
  /// relative to the source, or no paths of it.
  std::string origin = {};
  EntryTable entries = {};
  std::vector<Reject> rejects = {};  ///< known before any byte is read
  std::vector<Skip> skips = {};
  /// What reports put before its paths: its folder in the source, or else its name.
  const std::string& prefix() const { return origin.empty() ? split : origin; }
};

/// A reason to think that the folders of a source are no classes, or not the right ones.
struct Doubt {
  enum class Kind : std::uint8_t {
    kLayout,        ///< what its folders are cannot be told
    kSplitClasses,  ///< a split has a class that "train" has not
    kClassName,     ///< a class is called "images", "train", ...
    kEmptySplit,    ///< a split has no image
    kEmptyClass,    ///< a class has no image
    kOneClass       ///< there is only one
  };
  Kind kind;
  std::string what, advice;  ///< as an Error has them
};

/// Everything a source holds. seen = entries + rejects + skips, over all splits and `skips` here.
/// Files taken as extra fields are part of their sample, and not seen apart.
struct Listing {
  std::vector<std::string> classes;  ///< label -> class name
  std::vector<std::string> fields;   ///< names of the extra fields that occur, sorted; at most 32
  std::vector<SplitListing> splits;
  std::vector<Skip> skips;         ///< outside every split
  std::vector<std::string> notes;  ///< what the user should know, in words
  std::vector<Doubt> doubts;       ///< about classes told by folders, the gravest first
  std::uint64_t seen() const;
};

/// Which of a sample's companions are taken as extra fields.
struct FieldChoice {
  /// Nothing: what the source brings by itself (a folder none; archives none; a manifest file its
  /// further columns; shards all they hold). A list: just these; an empty one: none.
  std::optional<std::vector<std::string>> names = {};
};

/// A folder of the source that is a split.
struct SplitFolder {
  std::string split;   ///< its name in the dataset
  std::string folder;  ///< its path in the source, clean
};

/// "train=Training,val=Testing"; a folder alone is a split of that name; "none" is no folder.
/// Throws Error(kUsage).
std::vector<SplitFolder> parse_split_folders(const std::string& text);

struct ListOptions {
  /// Pins labels: label = place in this list. Empty: class names in byte order.
  std::vector<std::string> classes = {};
  /// The folders that are splits, and no others; empty: none is. Nothing: told by their names. Only
  /// of folders and archives of class folders.
  std::optional<std::vector<SplitFolder>> split_folders = {};
  /// Class folders are classes whatever Listing::doubts says. Only of folders and archives.
  bool allow_odd_classes = false;
  /// Where labels come from instead of the source; see label_file.h. Empty: from the source.
  std::filesystem::path labels = {};
  FieldChoice fields = {};
  /// Where a source may put large scratch files, which have no name there; empty: the system's
  /// place for temporary files.
  std::filesystem::path scratch = {};
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

/// Any thread may call any member of one source.
class Source {
 public:
  virtual ~Source() = default;
  /// Lists everything, in an order that depends on the source's content alone. Called once. Throws
  /// Error(kNotFound) when there is nothing to pack, Error(kUsage) when a class is not in
  /// `options.classes`.
  virtual Listing list(const ListOptions& options) = 0;
  /// Reads entry `i` of `split` into `out`. Throws Error when the input is gone, unreadable, or no
  /// longer of the size it was listed with.
  virtual void read(const SplitListing& split, std::size_t i, Input& out) const = 0;
  /// Asks for the bytes of entry `i` to be brought to memory soon. Never throws, never waits long
  /// for more than the directory entry. Returns whether it makes sense to ask for others, too.
  virtual bool prefetch(const SplitListing&, std::size_t) const { return false; }
  /// True when the samples come with keys and an order of their own, which packing keeps unless it
  /// is told to shuffle.
  virtual bool ordered() const { return false; }
  /// The key of entry `i` of an ordered source: strictly increasing in byte order within a split.
  virtual std::string key(const SplitListing&, std::size_t) const { return {}; }
  /// What has already been made of the images: a name of all_transforms(), and its settings.
  virtual std::string image_mode() const { return "original"; }
  virtual std::string image_settings() const { return {}; }
};

/// How a kind of source is found. One line in all_sources() each.
struct SourceKind {
  std::string_view name;
  std::string_view summary;
  bool (*probe)(const std::filesystem::path&);
  std::unique_ptr<Source> (*open)(const std::filesystem::path&);
};

std::span<const SourceKind> all_sources();

/// Throws Error(kUsage) for it.
[[noreturn]] void refuse(const Doubt& doubt, const std::filesystem::path& source);

/// Opens what `path` is, or as the `kind` named. Throws Error(kNotFound) when it is not there,
/// Error(kUnsupported) when it is nothing a source reads, Error(kUsage) for an unknown kind.
std::unique_ptr<Source> open_source(const std::filesystem::path& path, std::string_view kind = {});

/// How many were skipped, by rule.
std::map<std::string, std::uint64_t> count_by_rule(const std::vector<Skip>& skips);

/// Class names from a text file, one a line. Throws Error(kUsage) for an empty or repeated name.
std::vector<std::string> read_class_list(const std::filesystem::path& path);
/// The same of a file's text; `path` is for messages.
std::vector<std::string> parse_class_list(std::string_view text, const std::filesystem::path& path);
/// The same file's text; throws Error(kUsage) for a name with a line break in it.
std::string class_list_text(const std::vector<std::string>& classes);

}  // namespace packhorse
