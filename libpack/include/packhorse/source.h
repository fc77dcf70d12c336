#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "packhorse/bytes.h"
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

/// The entries of one split in compact form: 58 bytes each plus the file name. Grows without ever
/// holding them twice.
class EntryTable {
 public:
  /// All numbers of an entry.
  struct Facts {
    std::uint64_t size = 0;     ///< bytes of the image
    std::int64_t stamp = 0;     ///< differs when the input has changed; 0 = the source has none
    std::uint64_t locator = 0;  ///< for the source itself; reads near each other in it are cheap
    std::int64_t label = 0;
    std::uint32_t field_bytes = 0;  ///< of all extra fields together
    std::uint32_t fields = 0;       ///< bit f: it has field f of Listing::fields
  };
  struct Entry : Facts {
    std::string path;  ///< relative to the split's root; bytes as the file system has them
  };

  void add(std::string_view directory, std::string_view name, const Facts& facts);
  std::size_t size() const { return records_.size(); }
  Entry operator[](std::size_t i) const;
  Facts facts(std::size_t i) const;
  std::uint64_t size_of(std::size_t i) const { return records_[i].size; }
  std::int64_t label_of(std::size_t i) const { return records_[i].label; }
  std::string path_of(std::size_t i) const;
  std::size_t path_length(std::size_t i) const;
  /// By path, byte by byte, so that the order never depends on the file system.
  void sort_by_path();
  /// Adds entry `i` of another table, in any order of the `i`.
  void add_from(const EntryTable& other, std::size_t i);
  /// Adds all entries of another table.
  void append(EntryTable&& other);
  /// Gives entry `i` the label `label_of(i)`, and drops it where that is none.
  void relabel(const std::function<std::optional<std::int64_t>(std::size_t)>& label_of);

 private:
  struct Record {
    std::uint64_t size;
    std::int64_t stamp;
    std::uint64_t locator;
    std::uint64_t name;  ///< where the name starts in names_
    std::uint32_t directory;
    std::int32_t label;
    std::uint32_t name_length;
    std::uint32_t field_bytes;
    std::uint32_t fields;
  };
  struct Directory {
    std::uint64_t name;  ///< where its name starts in names_
    std::uint64_t length;
  };
  std::uint32_t directory_number(std::string_view directory);
  void rehash();
  bool path_less(const Record& a, const Record& b) const;
  std::string_view name_of(const Record& record) const {
    return std::string_view(names_).substr(record.name, record.name_length);
  }
  std::string_view name_of(const Directory& directory) const {
    return std::string_view(names_).substr(directory.name, directory.length);
  }
  std::deque<Record> records_;  ///< in pieces: growing neither copies nor doubles it
  std::vector<Directory> directories_;
  std::vector<std::uint32_t> slots_;  ///< directories_ by name: a hash table, 0 = free, else 1 + i
  std::string names_;
};

/// One split ("train", "val", ...; "" when the source has none) of a listing.
struct SplitListing {
  std::string split;
  bool divided = false;  ///< made by the packer out of the only split of the source
  EntryTable entries;
  std::vector<Reject> rejects;  ///< known before any byte is read
  std::vector<Skip> skips;
  /// The split's name in the source.
  std::string_view origin() const { return divided ? std::string_view() : split; }
};

/// Everything a source holds. seen = entries + rejects + skips, over all splits and `skips` here.
/// Files taken as extra fields are part of their sample, and not seen apart.
struct Listing {
  std::vector<std::string> classes;  ///< label -> class name
  std::vector<std::string> fields;   ///< names of the extra fields that occur, sorted; at most 32
  std::vector<SplitListing> splits;
  std::vector<Skip> skips;         ///< outside every split
  std::vector<std::string> notes;  ///< what the user should know, in words
  std::uint64_t seen() const;
};

/// Which of a sample's companions are taken as extra fields.
struct FieldChoice {
  /// Nothing: what the source brings by itself (a folder none; archives none; a manifest file its
  /// further columns; shards all they hold). A list: just these; an empty one: none.
  std::optional<std::vector<std::string>> names = {};
};

struct ListOptions {
  /// Pins labels: label = place in this list. Empty: class names in byte order.
  std::vector<std::string> classes = {};
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
