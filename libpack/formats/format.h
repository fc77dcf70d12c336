#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/shard_layout.h"
#include "packhorse/dataset/sample.h"
#include "packhorse/formats/export_index.h"

/// A format is one folder libpack/formats/<name>/ and one line in all_formats() or
/// foreign_formats(), both in registry.cc; elsewhere only advice in errors names it.
namespace packhorse {

class ShardIndex;
struct Manifest;
struct ShardRecord;

/// A sample as the plan knows it before it is read.
struct ExpectedSample {
  std::string key;
  std::int64_t label = 0;
  std::uint64_t bytes = 0;  ///< of the image
};

/// What a writer must know before the first sample.
struct ShardSpec {
  std::vector<std::string>
      classes;  ///< label -> name; kept inside the shard where the format has a place
  std::vector<std::string> fields =
      {};                   ///< names of extra fields, sorted; a sample may lack some of them
  int zstd_level = 0;       ///< 0 = not compressed
  std::size_t samples = 0;  ///< the most that may come, so that memory is taken once; 0 = unknown
  /// Sample i < `samples`, most likely an encoded image without fields: a hint for formats whose
  /// first bytes depend on what follows. When another sample comes, closing takes longer. Empty =
  /// unknown.
  std::function<ExpectedSample(std::size_t i)> expected = {};
};

/// Writes one shard. One thread at a time.
class ShardWriter {
 public:
  /// Removes what was written, unless close() was called. Never throws.
  virtual ~ShardWriter() = default;
  /// Keys must be strictly increasing in byte order, and labels representable in the format.
  /// Throws Error(kUsage) with the key otherwise, Error(kIo | kNoSpace) when the disk refuses.
  virtual void add(const Sample& sample) = 0;
  /// Completes and syncs the file and gives it its final name. Returns where each sample's bytes
  /// lie: each image and each field one contiguous range.
  virtual ShardLayout close() = 0;
};

/// One sample as a shard holds it, read without packhorse's index.
struct StoredSample {
  std::string key;
  std::int64_t label = 0;          ///< -1: the shard holds none for this sample
  Bytes bytes;                     ///< lives until the next call on the same reader
  std::vector<Field> fields = {};  ///< by name; views live as long as `bytes`
  bool in_npy = false;             ///< `bytes` are a NumPy file, perhaps around raw pixels
  /// What the index names as the image. Throws Error(kCorrupt).
  Bytes image(ImageKind kind) const;
};

/// Reads a shard through the format's own library, without packhorse's index. Slow and strict: the
/// index is checked against it. One thread at a time.
class ShardReader {
 public:
  virtual ~ShardReader() = default;
  virtual std::size_t size() const = 0;
  /// Sample i < size() in stored order. Throws Error(kCorrupt).
  virtual StoredSample read(std::size_t i) = 0;
};

/// A file beside the shards for other readers, which packhorse does not read. It depends on the
/// shards alone.
struct ExportedFile {
  std::string name;  ///< relative to the dataset
  std::string text;
};

/// How a format makes such files; those of shards come piece by piece. Any thread. export_index.h
/// writes them.
struct ExportedIndexes {
  using Out = std::function<void(std::string_view piece)>;
  std::string (*name_of_shard)(const ShardRecord& record);  ///< the name of the file made for it
  /// Why shards whose samples have these fields get no such file; empty when they do.
  std::string (*why_not)(const std::vector<std::string>& fields);
  /// Makes the file of a shard that open_writer() has written, from its index alone.
  void (*of_own_shard)(const ShardRecord& record, const ShardIndex& index,
                       const ExportedIndexOptions& options, const Out& out);
  /// Makes the file of any shard from the headers between its payloads. Throws Error(kCorrupt),
  /// Error(kUnsupported) with the member that has no place in such a file.
  void (*of_shard)(int fd, const std::filesystem::path& data_file, const ShardRecord& record,
                   const ExportedIndexOptions& options, const Out& out);
  /// Makes the files of all shards together.
  std::vector<ExportedFile> (*of_dataset)(const Manifest& manifest);
};

/// A format that packhorse writes and reads.
struct Format {
  std::string_view name;  ///< as in --format
  std::string_view
      file_suffix;           ///< a shard's data file is <stem> + suffix; may name a directory too
  std::string_view summary;  ///< one line for help
  std::string_view compressed_suffix;  ///< the same when compressed; empty = it cannot be
  int version;                         ///< version of the layout that is written; in the manifest
  bool carries_fields;                 ///< whether there is a place for extra fields
  std::uint32_t sample_overhead;       ///< bytes a sample may take beyond its own, at most
  std::uint32_t field_overhead;        ///< the same for each field it has
  std::unique_ptr<ShardWriter> (*open_writer)(const std::filesystem::path& data_file,
                                              const ShardSpec& spec);
  std::unique_ptr<ShardReader> (*open_reader)(const std::filesystem::path& data_file);
  std::string (*library_version)();  ///< the library's version, for --version
  /// Samples of up to so many bytes, without fields, take less overhead.
  std::uint32_t small_sample = 0;
  std::uint32_t small_overhead = 0;                   ///< that much, at most
  const ExportedIndexes* exported_indexes = nullptr;  ///< null: other readers need none
};

std::span<const Format* const> all_formats();
/// The suffix of a shard's data file, by whether it is compressed.
inline std::string_view suffix_of(const Format& format, int zstd_level) {
  return zstd_level == 0 ? format.file_suffix : format.compressed_suffix;
}
/// Throws Error(kUsage) with the known names; also for a foreign format (foreign_shard.h).
const Format& find_format(std::string_view name);
/// The indexes of a format of either kind, by its name; null where it has none. Throws as
/// find_format() does.
const ExportedIndexes* exported_indexes_of(std::string_view format);

}  // namespace packhorse
