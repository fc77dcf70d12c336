#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "packhorse/bytes.h"

/// Where samples come from. A source lists what there is once (`list`), then hands out bytes
/// (`read`).
///
///     auto source = open_source("imagenet");
///     Listing listing = source->list({});
///     std::vector<std::byte> bytes;
///     source->read(listing.splits[0], 17, bytes);
namespace packhorse {

/// One input that does not become a sample although it looks like one, and why.
struct Reject {
  std::string path;  ///< relative to the source; bytes that are no UTF-8 appear as \xNN
  std::string reason;
};

/// A file name as text: what is no valid UTF-8 becomes \xNN, byte by byte.
std::string as_utf8(std::string_view name);

/// The entries of one split in compact form: about 40 bytes each plus the file name.
class EntryTable {
 public:
  struct Entry {
    std::string path;       ///< relative to the split's root; bytes as the file system has them
    std::uint64_t size;     ///< bytes
    std::int64_t mtime_ns;  ///< time of last change; 0 when the source has none
    std::int64_t label;
  };

  void add(std::string_view directory, std::string_view name, std::uint64_t size,
           std::int64_t mtime_ns, std::int64_t label);
  std::size_t size() const { return records_.size(); }
  Entry operator[](std::size_t i) const;
  std::uint64_t size_of(std::size_t i) const { return records_[i].size; }
  std::int64_t label_of(std::size_t i) const { return records_[i].label; }
  std::string path_of(std::size_t i) const;
  /// By path, byte by byte, so that the order never depends on the file system.
  void sort_by_path();

 private:
  struct Record {
    std::uint64_t size;
    std::int64_t mtime_ns;
    std::uint64_t name;  ///< where the name starts in names_
    std::uint32_t directory;
    std::int32_t label;
    std::uint32_t name_length;
  };
  std::vector<Record> records_;
  std::vector<std::string> directories_;
  std::string names_;
};

/// One split ("train", "val", ...; "" when the source has none) of a listing.
struct SplitListing {
  std::string split;
  EntryTable entries;
  std::vector<Reject> rejects;                   ///< known before any byte is read
  std::map<std::string, std::uint64_t> skipped;  ///< how many were skipped, by rule
};

/// Everything a source holds. seen = entries + rejects + skipped, over all splits and `skipped`
/// here.
struct Listing {
  std::vector<std::string> classes;  ///< label -> class name
  std::vector<SplitListing> splits;
  std::map<std::string, std::uint64_t> skipped;  ///< outside every split, by rule
  std::uint64_t seen() const;
};

struct ListOptions {
  /// Pins labels: label = place in this list. Empty: class names in byte order.
  std::vector<std::string> classes;
};

class Source {
 public:
  virtual ~Source() = default;
  /// Lists everything, in an order that depends on the names alone. Throws Error(kNotFound) when
  /// there is nothing to pack, Error(kUsage) when a class is not in `options.classes`.
  virtual Listing list(const ListOptions& options) const = 0;
  /// Reads entry `i` of `split` into `out` (resized). Any thread. Throws Error when the input is
  /// gone, unreadable, or no longer of the size it was listed with.
  virtual void read(const SplitListing& split, std::size_t i,
                    std::vector<std::byte>& out) const = 0;
};

/// How a kind of source is found. One line in all_sources() each.
struct SourceKind {
  std::string_view name;
  std::string_view summary;
  bool (*probe)(const std::filesystem::path&);
  std::unique_ptr<Source> (*open)(const std::filesystem::path&);
};

std::span<const SourceKind> all_sources();

/// Opens what `path` is. Throws Error(kNotFound) when it is not there, Error(kUnsupported) when it
/// is nothing a source reads.
std::unique_ptr<Source> open_source(const std::filesystem::path& path);

/// Class names from a text file, one a line. Throws Error(kUsage) for an empty or repeated name.
std::vector<std::string> read_class_list(const std::filesystem::path& path);
/// The same file's text; throws Error(kUsage) for a name with a line break in it.
std::string class_list_text(const std::vector<std::string>& classes);

}  // namespace packhorse
