#include "packhorse/peer_index.h"

#include <algorithm>

#include "packhorse/error.h"
#include "packhorse/file.h"
#include "packhorse/hash.h"
#include "packhorse/pack.h"
#include "packhorse/packed_dataset.h"
#include "packing/peer_files.h"
#include "parallel.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

int threads(int jobs) { return jobs > 0 ? jobs : available_cpus(); }

/// Hands each file to `keep`, with its place among them; those of shards from several threads.
template <class OfShard, class Keep>
void make_files(const PeerIndexes& indexes, const Manifest& manifest, int jobs,
                const OfShard& of_shard, const Keep& keep) {
  const std::size_t shards = manifest.shards.size();
  run_parallel(threads(jobs), shards,
               [&](std::size_t shard) { keep(shard, of_shard(manifest.shards[shard])); });
  std::size_t place = shards;
  for (const PeerFile& file : indexes.of_dataset(manifest)) keep(place++, file);
}

const PeerIndexes& peer_indexes_of(const Manifest& manifest, const fs::path& dataset) {
  const PeerIndexes* indexes = find_format(manifest.format).peer_indexes;
  if (indexes == nullptr) {
    std::string names;
    for (const Format* format : all_formats()) {
      if (format->peer_indexes != nullptr)
        names += (names.empty() ? "" : ", ") + std::string(format->name);
    }
    throw Error(ErrorKind::kUsage,
                "other people's readers need no index of the format " + manifest.format, dataset,
                "they open its shards as they are; indexes are made of: " + names);
  }
  if (!manifest.compress.empty()) {
    throw Error(ErrorKind::kUnsupported,
                "compressed shards have no such indexes: their readers look for members at offsets "
                "in a plain file",
                dataset, "pack the dataset into plain shards: packhorse pack " + dataset.string());
  }
  return *indexes;
}

bool has_bytes(const fs::path& path, const std::string& text) {
  std::error_code code;
  return fs::is_regular_file(path, code) && fs::file_size(path, code) == text.size() &&
         read_text(path) == text;
}

/// A published file is never changed: its SHA-256 is part of the dataset.
void refuse_other_bytes(const Manifest& manifest, const fs::path& path, const PeerFile& file) {
  const auto published =
      std::find_if(manifest.files.begin(), manifest.files.end(),
                   [&](const FileRecord& record) { return record.file == file.name; });
  if (published == manifest.files.end() || published->sha256 == sha256(as_bytes(file.text))) return;
  throw Error(
      ErrorKind::kExists,
      "the dataset was published with another file of that name, and its SHA-256 is part of "
      "it",
      path, "write the indexes into a directory of their own: -o DIR");
}

}  // namespace

std::vector<FileRecord> publish_peer_files(const fs::path& directory, const Manifest& manifest,
                                              int jobs) {
  const PeerIndexes* indexes = find_format(manifest.format).peer_indexes;
  if (indexes == nullptr || !manifest.compress.empty()) return {};
  std::vector<FileRecord> records(manifest.shards.size());
  const auto of_shard = [&](const ShardRecord& record) {
    return indexes->of_own_shard(record, ShardIndex(directory / record.index), {});
  };
  make_files(*indexes, manifest, jobs, of_shard, [&](std::size_t place, const PeerFile& file) {
    write_file(directory / file.name, as_bytes(file.text));
    if (place == records.size()) records.emplace_back();  // behind the shards: one thread
    records[place] = {file.name, file.text.size(), sha256(as_bytes(file.text))};
  });
  return records;
}

PeerIndexReport write_peer_indexes(const fs::path& dataset, const fs::path& out,
                                         const PeerIndexOptions& options, int jobs) {
  if (!is_packed_dataset(dataset))
    static_cast<void>(find_datasets(dataset));  // throws with the right advice
  const Manifest manifest = Manifest::load(dataset);
  const PeerIndexes& indexes = peer_indexes_of(manifest, dataset);
  const fs::path directory = out.empty() ? dataset : out;
  const bool beside = out.empty() || fs::weakly_canonical(out) == fs::weakly_canonical(dataset);
  make_directories(directory);

  struct Outcome {
    std::string name;
    std::uint64_t bytes;
    bool written;
  };
  std::vector<Outcome> outcomes(manifest.shards.size());
  const auto of_shard = [&](const ShardRecord& record) {
    return indexes.of_shard(dataset, record, options);
  };
  make_files(indexes, manifest, jobs, of_shard, [&](std::size_t place, const PeerFile& file) {
    const fs::path path = directory / file.name;
    if (beside) refuse_other_bytes(manifest, path, file);
    const bool there = has_bytes(path, file.text);
    if (!there) write_file(path, as_bytes(file.text));
    if (place == outcomes.size()) outcomes.emplace_back();
    outcomes[place] = {file.name, file.text.size(), !there};
  });
  PeerIndexReport report;
  for (Outcome& outcome : outcomes) {
    report.bytes += outcome.bytes;
    (outcome.written ? report.written : report.unchanged).push_back(std::move(outcome.name));
  }
  return report;
}

}  // namespace packhorse
