#include "packhorse/formats/export_index.h"

#include <algorithm>

#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/resources.h"
#include "dataset/dataset_directory.h"
#include "dataset/shard_index.h"
#include "formats/exported_files.h"
#include "formats/format.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

int threads(int jobs) { return jobs > 0 ? jobs : available_cpus(); }

/// A file being written, whose SHA-256 is known before it gets its name.
class HashedFile {
 public:
  /// `name` is that of a shard, with another ending, or fixed. Shards lie in the dataset's
  /// directory itself, so no part of the path can be a link.
  HashedFile(std::string name, const fs::path& directory)
      : file_(checked(name, directory)), path_(directory / name), record_{std::move(name), 0, {}} {}

  void write(std::string_view piece) {
    file_.write(as_bytes(piece));
    hash_.update(as_bytes(piece));
  }
  const FileRecord& end() {
    record_.bytes = file_.position();
    record_.sha256 = hash_.finish();
    return record_;
  }
  void commit() { file_.commit(); }
  const fs::path& path() const { return path_; }

 private:
  static fs::path checked(const std::string& name, const fs::path& directory) {
    if (is_inner_name(name) && name.find('/') == std::string::npos) return directory / name;
    throw Error(ErrorKind::kCorrupt, "a shard with this name leaves no name for its index",
                directory / name, "do not trust this dataset");
  }

  AtomicFile file_;
  fs::path path_;
  Sha256 hash_;
  FileRecord record_;
};

/// Makes each file in `directory` and hands it to `keep` with its place among them. `write_shard`
/// writes those of the first `shards`, in several threads.
template <class WriteShard, class Keep>
void make_files(const ExportedIndexes& indexes, const Manifest& manifest, std::size_t shards,
                const fs::path& directory, int jobs, const WriteShard& write_shard,
                const Keep& keep) {
  run_parallel(threads(jobs), shards, [&](std::size_t shard) {
    const ShardRecord& record = manifest.shards[shard];
    HashedFile file(indexes.name_of_shard(record), directory);
    write_shard(record, [&](std::string_view piece) { file.write(piece); });
    keep(shard, file);
  });
  std::size_t place = shards;
  for (const ExportedFile& small : indexes.of_dataset(manifest)) {
    HashedFile file(small.name, directory);
    file.write(small.text);
    keep(place++, file);
  }
}

const ExportedIndexes& indexes_for(const Manifest& manifest, const fs::path& dataset) {
  const ExportedIndexes* indexes = exported_indexes_of(manifest.format);
  if (indexes == nullptr) {
    std::string names;
    for (const Format* format : all_formats()) {
      if (format->exported_indexes != nullptr)
        names += (names.empty() ? "" : ", ") + std::string(format->name);
    }
    throw Error(ErrorKind::kUsage, "no reader needs an index for the format " + manifest.format,
                dataset, "its shards can be opened as they are; indexes are made for: " + names);
  }
  if (!manifest.compress.empty()) {
    throw Error(ErrorKind::kUnsupported,
                "compressed shards cannot have such indexes: their readers look up members by "
                "offset in a plain file",
                dataset, "pack the dataset into plain shards: packhorse pack " + dataset.string());
  }
  return *indexes;
}

bool is_there(const fs::path& path, const FileRecord& file) {
  std::error_code code;
  return fs::is_regular_file(fs::symlink_status(path, code)) &&
         fs::file_size(path, code) == file.bytes && sha256_file(path) == file.sha256;
}

/// Refuses to change a published file: its SHA-256 is part of the dataset.
void refuse_other_bytes(const Manifest& manifest, const fs::path& path, const FileRecord& file) {
  const auto published = std::ranges::find(manifest.files, file.file, &FileRecord::file);
  if (published == manifest.files.end() || published->sha256 == file.sha256) return;
  throw Error(
      ErrorKind::kExists,
      "the dataset was published with a different file of this name, whose SHA-256 it records",
      path, "write the indexes into a directory of their own: -o DIR");
}

}  // namespace

std::vector<FileRecord> publish_exported_files(const fs::path& directory, const Manifest& manifest,
                                               int jobs) {
  const ExportedIndexes* indexes = exported_indexes_of(manifest.format);
  if (indexes == nullptr || !manifest.compress.empty()) return {};
  const bool fit = indexes->why_not(manifest.fields).empty();
  std::vector<FileRecord> records(fit ? manifest.shards.size() : 0);
  const auto write_shard = [&](const ShardRecord& record, const ExportedIndexes::Out& out) {
    indexes->of_own_shard(record, ShardIndex(directory / record.index), {}, out);
  };
  make_files(*indexes, manifest, records.size(), directory, jobs, write_shard,
             [&](std::size_t place, HashedFile& file) {
               if (place == records.size()) records.emplace_back();  // after the shards: one thread
               records[place] = file.end();
               file.commit();
             });
  return records;
}

ExportedIndexReport export_indexes(const fs::path& dataset, const fs::path& out,
                                   const ExportedIndexOptions& options, int jobs) {
  if (!is_packed_dataset(dataset))
    static_cast<void>(find_datasets(dataset));  // throws with the right advice
  const DatasetDirectory opened(dataset);
  const Manifest manifest = Manifest::load(opened);
  const ExportedIndexes& indexes = indexes_for(manifest, dataset);
  const fs::path directory = out.empty() ? dataset : out;
  const bool beside = out.empty() || fs::weakly_canonical(out) == fs::weakly_canonical(dataset);
  make_directories(directory);

  struct Outcome {
    FileRecord file;
    bool written;
  };
  std::vector<Outcome> outcomes(manifest.shards.size());
  const auto write_shard = [&](const ShardRecord& record, const ExportedIndexes::Out& to) {
    const UniqueFd fd = opened.open(record.file, DatasetDirectory::links_of(manifest));
    indexes.of_shard(fd.get(), dataset / record.file, record, options, to);
  };
  make_files(indexes, manifest, manifest.shards.size(), directory, jobs, write_shard,
             [&](std::size_t place, HashedFile& file) {
               const FileRecord& made = file.end();
               if (beside) refuse_other_bytes(manifest, file.path(), made);
               const bool there = is_there(file.path(), made);
               if (!there) file.commit();
               if (place == outcomes.size()) outcomes.emplace_back();
               outcomes[place] = {made, !there};
             });
  ExportedIndexReport report;
  for (Outcome& outcome : outcomes) {
    report.bytes += outcome.file.bytes;
    (outcome.written ? report.written : report.unchanged).push_back(std::move(outcome.file.file));
  }
  return report;
}

}  // namespace packhorse
