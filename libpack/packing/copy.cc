#include "packhorse/packing/copy.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/resources.h"
#include "base/stop.h"
#include "dataset/copied_file.h"
#include "dataset/dataset_directory.h"
#include "formats/dataset_card.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packing/bucket_files.h"
#include "packing/staging.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr int kLeastAtOnce = 4;  // where the network is what takes the time

/// A dataset that is copied.
struct Part {
  explicit Part(const fs::path& path, std::string name)
      : split(std::move(name)),
        directory(path),
        text(directory.read_text(std::string(kManifestName))),
        manifest(Manifest::parse(text, path / kManifestName)),
        sums(manifest.sums()) {
    if (directory.read_text(std::string(kSumsName)) != sums &&
        directory.read_text(std::string(kSumsName)) != sums)  // perhaps damaged on the way
      refuse_copied(directory, std::string(kSumsName));
    const std::string line = sha256(as_bytes(text)) + "  " + std::string(kManifestName) + "\n";
    if (sums.find(line) == std::string::npos) refuse_copied(directory, std::string(kManifestName));
  }

  std::string split;
  DatasetDirectory directory;
  std::string text;  ///< of dataset.json
  Manifest manifest;
  std::string sums;  ///< SHA256SUMS
};

struct File {
  const Part* part = nullptr;
  FileRecord record;
  std::uint64_t samples = 0;  ///< of a shard
};

std::vector<File> files_of(const std::vector<std::unique_ptr<Part>>& parts) {
  std::vector<File> files;
  for (const auto& part : parts) {
    for (const ShardRecord& shard : part->manifest.shards) {
      files.push_back({part.get(), {shard.file, shard.bytes, shard.sha256}, shard.samples});
      files.push_back({part.get(), {shard.index, shard.index_bytes, shard.index_sha256}, 0});
    }
    for (const FileRecord& file : part->manifest.files) files.push_back({part.get(), file, 0});
  }
  return files;
}

bool is_web(const fs::path& place) {
  return is_url(place.native()) && place.native().starts_with("http");
}

class Copy {
 public:
  Copy(const fs::path& from, const fs::path& to, const CopyOptions& options, Progress& progress)
      : from_(from), to_(to), options_(options), progress_(progress) {
    const std::vector<fs::path> paths = find_datasets(from);
    const bool splits = paths.front() != from;
    for (const fs::path& path : paths)
      parts_.push_back(std::make_unique<Part>(path, splits ? path.filename().string() : ""));
    files_ = files_of(parts_);
    for (const File& file : files_) progress_.total_samples += file.samples;
    if (splits && is_web(from))
      report_.notes.push_back(
          "a web server cannot say which splits it has: train, val and test "
          "were looked for");
    if (splits) card_ = find_card();
  }

  CopyReport run() {
    is_url(to_.native()) ? to_url() : to_disk();
    report_.files = files_.size() + 2 * parts_.size() + (card_ ? 1 : 0);
    for (const File& file : files_) {
      report_.bytes += file.record.bytes;
      report_.samples += file.samples;
    }
    for (const auto& part : parts_) report_.bytes += part->text.size() + part->sums.size();
    report_.kept = kept_;
    return report_;
  }

 private:
  /// The card lies beside the splits; no manifest names it.
  std::optional<std::string> find_card() const {
    const DatasetDirectory above(from_);
    try {
      return above.read_text(std::string(kCardName));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kNotFound) throw;
      return std::nullopt;
    }
  }

  template <class Work>
  void for_each_file(const Work& work) {
    const int jobs = options_.jobs > 0 ? options_.jobs : std::max(kLeastAtOnce, available_cpus());
    run_parallel(jobs, files_.size(), [&](std::size_t i) {
      work(files_[i]);
      progress_.samples += files_[i].samples;
    });
  }

  /// Brings a file to `path`, unless it is there.
  void bring(const File& file, const fs::path& path) {
    const FileRecord& record = file.record;
    if (fs::exists(path) && fs::file_size(path) == record.bytes &&
        sha256_file(path) == record.sha256) {
      ++kept_;
      progress_.bytes += record.bytes;
      return;
    }
    make_directories(path.parent_path());
    const auto links = DatasetDirectory::links_of(file.part->manifest);
    copy_checked(file.part->directory, record, links, path, progress_);
  }

  void to_disk() {
    if (fs::exists(fs::symlink_status(to_))) {
      Staging::clear_leftover(to_);
      throw Error(ErrorKind::kExists, "the target already exists", to_,
                  "choose another target, or remove it first");
    }
    Staging staging(to_, Staging::Hold::kAlone, "copy\n");
    for_each_file([&](const File& file) {
      const fs::path path = staging.data(file.part->split) / file.record.file;
      bring(file, path);
      sync_path(path);
    });
    std::vector<fs::path> keep;  // what is there may be from a copy of another dataset
    for (const File& file : files_)
      keep.push_back(staging.data(file.part->split) / file.record.file);
    Staging::remove_others(staging.data(""), keep);
    for (const auto& part : parts_) {
      const fs::path data = staging.data(part->split);
      write_file(data / kSumsName, as_bytes(part->sums));
      write_file(data / kManifestName, as_bytes(part->text));
    }
    if (card_) write_file(staging.data("") / kCardName, as_bytes(*card_));
    staging.publish(false);
  }

  void to_url() {
    const BucketFiles target(to_);
    for (const auto& part : parts_) target.refuse_other(part->split, part->text);
    const bool from_url = parts_.front()->directory.remote() != nullptr;
    std::optional<Staging> staging;
    if (from_url) staging.emplace(to_, Staging::Hold::kAlone, "copy\n", options_.staging);
    for_each_file([&](const File& file) {
      const FileRecord& record = file.record;
      if (target.holds(file.part->split, record)) {
        ++kept_;
        return;
      }
      fs::path path = file.part->directory.path() / record.file;
      if (staging) {
        path = staging->data(file.part->split) / record.file;
        bring(file, path);
      } else {
        refuse_damaged(file);
      }
      target.store(file.part->split, record, path);
      if (staging) {
        remove_tree(path);
      } else {
        progress_.bytes += record.bytes;
      }
    });
    for (const auto& part : parts_) target.store_text(part->split, kSumsName, part->sums);
    std::vector<BucketFiles::Part> stored;
    for (const auto& part : parts_) stored.push_back({part->split, part->manifest});
    target.end_uploads(stored);
    if (card_) target.store_text("", kCardName, *card_);
    for (const auto& part : parts_) target.store_text(part->split, kManifestName, part->text);
    if (staging) staging->remove_behind(to_);
  }

  static void refuse_damaged(const File& file) {
    const FileRecord& record = file.record;
    const DatasetDirectory& directory = file.part->directory;
    const auto links = DatasetDirectory::links_of(file.part->manifest);
    if (!directory.holds(record.file, record.bytes, record.sha256, links))
      refuse_copied(directory, record.file);
  }

  const fs::path& from_;
  const fs::path& to_;
  const CopyOptions& options_;
  Progress& progress_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<File> files_;
  std::optional<std::string> card_;
  std::atomic<std::uint64_t> kept_{0};
  CopyReport report_;
};

}  // namespace

CopyReport copy_dataset(const fs::path& from, const fs::path& to, const CopyOptions& options,
                        Progress* progress, std::stop_token stop) {
  const StopScope scope(stop);
  Progress unseen;
  if (progress == nullptr) progress = &unseen;
  if (!options.staging.empty() && !(is_url(to.native()) && is_url(from.native())))
    throw Error(ErrorKind::kUsage, "a staging directory serves from one URL to another only", to,
                "leave it out");
  return Copy(from, to, options, *progress).run();
}

}  // namespace packhorse
