#pragma once

#include <string>
#include <vector>

#include "formats/format.h"
#include "listing/listing.h"

/// Shards of other tools, as they are adopted: they are not changed, and an index says where their
/// samples are.
namespace packhorse {

/// One sample of a shard made by others: where it lies, and what the shard says of it.
struct FoundSample {
  struct FoundField {
    std::size_t field = 0;  ///< its place in ForeignShard::fields()
    ByteRange range;
  };
  std::string key;    ///< as the shard has it, any bytes; no other sample of the shard has it
  ByteRange image;    ///< in the data file; not checked against its size
  ImageInfo pixels;   ///< kRaw with its size where the range holds pixels; else kUnknown
  std::string label;  ///< a number or a class name; empty: the shard has none for it
  Problem problem;    ///< why it cannot be a sample; empty: it can
  std::vector<FoundField> fields = {};  ///< its fields, in the order of ForeignShard::fields()
};

/// A foreign shard, read through its format's own library. Nothing in it is trusted or executed (no
/// pickles). One thread at a time.
class ForeignShard : public ShardReader {
 public:
  /// Which of its format's conventions it follows, in a word: "datum".
  virtual std::string layout() const = 0;
  /// Names of the extra fields that occur, sorted.
  virtual const std::vector<std::string>& fields() const = 0;
  /// Sample i < size(), in stored order, without reading its payload. read(i) returns the same
  /// sample by way of the library. Throws Error(kCorrupt).
  virtual FoundSample found(std::size_t i) = 0;
  /// Everything that is not a sample, and why. Known from the start.
  virtual const std::vector<Reject>& rejects() const = 0;
  virtual const std::vector<Skip>& skips() const = 0;
};

/// A format of other tools that packhorse adopts (adopt.h).
struct ForeignFormat {
  std::string_view name;     ///< in the manifest
  std::string_view summary;  ///< one line for help
  int version;               ///< version of the conventions understood; in the manifest
  /// The data file of the shard that a path names; nothing when it is not of this format.
  std::optional<std::filesystem::path> (*find)(const std::filesystem::path& named);
  /// Throws Error(kUnsupported) with advice for what cannot be adopted, Error(kCorrupt).
  std::unique_ptr<ForeignShard> (*open)(const std::filesystem::path& data_file,
                                        const ForeignOptions& options);
  const ExportedIndexes* exported_indexes = nullptr;  ///< as in Format
};

std::span<const ForeignFormat* const> foreign_formats();
/// Returns null when there is none of that name.
const ForeignFormat* find_foreign_format(std::string_view name);

}  // namespace packhorse
