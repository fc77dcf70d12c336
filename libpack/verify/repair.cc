#include "packhorse/verify/repair.h"

#include <tbb/task_arena.h>

#include <algorithm>
#include <charconv>
#include <mutex>
#include <set>

#include "base/hash.h"
#include "base/parallel.h"
#include "base/printable.h"
#include "base/resources.h"
#include "base/stop.h"
#include "dataset/class_list.h"
#include "dataset/copied_file.h"
#include "dataset/dataset_directory.h"
#include "formats/exported_files.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packing/pack_item.h"
#include "packing/pack_shard.h"
#include "packing/publish.h"
#include "packing/staging.h"
#include "verify/replay.h"
#include "verify/shard.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// "shard-000017.tar" -> 17.
std::size_t number_of(const std::string& file) {
  std::size_t number = 0;
  const std::size_t dash = file.find('-') + 1;
  std::from_chars(file.data() + dash, file.data() + file.size(), number);
  return number;
}

/// The staging directory lies in the dataset, where nobody else works. Beside the dataset, the one
/// of an interrupted `pack --overwrite` may be waiting to be continued. Inside, new files are also
/// on the file system where they belong.
constexpr const char* kStagingName = ".packhorse-repair";

/// One call to repair().
class Repair {
 public:
  Repair(const fs::path& dataset, const fs::path& from, const PackOptions& options,
         Progress& progress)
      : directory_(dataset),
        dataset_(directory_.path()),
        from_(from),
        given_(options),
        progress_(progress),
        manifest_(Manifest::load(directory_)),
        links_(DatasetDirectory::links_of(manifest_)),
        jobs_(options.jobs > 0 ? options.jobs : available_cpus()) {}

  RepairReport run() {
    const std::vector<FileRecord> damaged = find_damaged();
    const bool sums_damaged = !sums_are_right();
    refuse_links(staging_path(dataset_ / kStagingName));
    if (damaged.empty() && !sums_damaged) {
      Staging::clear_leftover(dataset_ / kStagingName, Staging::Finished::kRemoved);
      return std::move(report_);
    }
    Staging staging(dataset_ / kStagingName, Staging::Hold::kAlone, "repair\n");
    make_directories(staging.data(""));
    make_directories(staging.receipts(""));
    try {
      std::vector<FileRecord> left;
      for (const FileRecord& file : damaged) {
        refuse_foreign(file.file);
        if (!copy(file, staging)) left.push_back(file);
      }
      if (!left.empty()) rebuild(left, staging);
      for (const FileRecord& file : damaged) replace(file.file, staging);
      if (sums_damaged) {
        write_file(staging.data("") / kSumsName, as_bytes(manifest_.sums()));
        replace(std::string(kSumsName), staging);
        report_.rebuilt.emplace_back(kSumsName);
      }
    } catch (...) {
      staging.abandon();
      throw;
    }
    staging.remove_behind(dataset_);
    return std::move(report_);
  }

 private:
  /// All files in the manifest that are not as it describes them.
  std::vector<FileRecord> find_damaged() {
    std::vector<FileRecord> all = manifest_.files;
    for (const ShardRecord& shard : manifest_.shards) {
      all.push_back({shard.file, shard.bytes, shard.sha256});
      all.push_back({shard.index, shard.index_bytes, shard.index_sha256});
    }
    progress_.phase = "looking for damage";
    std::vector<char> damaged(all.size());
    run_parallel(jobs_, all.size(), [&](std::size_t i) { damaged[i] = is_sound(all[i]) ? 0 : 1; });
    progress_.phase = nullptr;
    std::vector<FileRecord> found;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (damaged[i] != 0) found.push_back(all[i]);
    }
    return found;
  }

  bool is_sound(const FileRecord& file) const {
    return directory_.holds(file.file, file.bytes, file.sha256,
                            is_shard(file.file) ? links_ : kNone);
  }

  /// Whether a newly made file is the one that the manifest records.
  static bool fits(const fs::path& path, const FileRecord& file) {
    std::error_code code;
    return fs::file_size(path, code) == file.bytes && !code && sha256_file(path) == file.sha256;
  }

  bool is_shard(const std::string& file) const {
    return std::ranges::any_of(manifest_.shards,
                               [&](const ShardRecord& shard) { return shard.file == file; });
  }

  /// Whether the sums are intact. They can be made again from the manifest. But when both can be
  /// read and contradict each other about the manifest, nobody can tell which of them is right:
  /// Error(kCorrupt).
  bool sums_are_right() const {
    const std::string text = directory_.read_text(std::string(kManifestName));
    const std::string line = sha256(as_bytes(text)) + "  " + std::string(kManifestName) + "\n";
    const bool there = fs::exists(fs::symlink_status(dataset_ / kSumsName));
    const std::string sums = there ? directory_.read_text(std::string(kSumsName)) : std::string();
    const bool canonical = text == manifest_.serialise();
    if (canonical && sums == manifest_.sums()) return true;
    const bool manifest_vouched = sums.find(line) != std::string::npos;
    if (canonical && (manifest_vouched || !there || only_other_lines_hold(sums))) return false;
    throw Error(ErrorKind::kCorrupt, "dataset.json is not the one that was published",
                dataset_ / kManifestName,
                "all other files are checked against it, so it cannot be repaired: restore it from "
                "a copy, or pack the source again");
  }

  /// Whether the sums have lost the manifest's line, rather than contradict it.
  static bool only_other_lines_hold(const std::string& sums) {
    return sums.find("  " + std::string(kManifestName) + "\n") == std::string::npos;
  }

  /// Refuses shards that others made, wherever they lie, and files behind symbolic links.
  void refuse_foreign(const std::string& file) const {
    if (manifest_.adopted && is_shard(file)) {
      throw Error(ErrorKind::kUnsupported, "a damaged shard is not one that packhorse wrote",
                  dataset_ / file, "get it again from where it came from");
    }
    fs::path part = dataset_;
    for (const fs::path& next : fs::path(file)) refuse_link(part /= next);
  }

  static void refuse_link(const fs::path& path) {
    if (!fs::is_symlink(path)) return;
    throw Error(ErrorKind::kUnsupported,
                "the target of a symbolic link is outside the dataset and is not repaired", path,
                "put the file itself there, or remove the link");
  }

  bool copy(const FileRecord& file, const Staging& staging) {
    for (const fs::path& root : {from_, from_ / manifest_.split}) {
      if (!is_packed_dataset(root)) continue;
      const DatasetDirectory other(root);
      const fs::path target = staging.data("") / file.file;
      make_directories(target.parent_path());
      if (other.remote()) {
        if (!fetch(other, file, target)) continue;
      } else {
        if (!other.holds(file.file, file.bytes, file.sha256)) continue;
        copy_over(root / file.file, target);
      }
      if (!fits(target, file)) return false;
      report_.copied.push_back(file.file);
      return true;
    }
    return false;
  }

  /// Copies a file from a dataset at a URL. False when it is not there, or is another one.
  bool fetch(const DatasetDirectory& other, const FileRecord& file, const fs::path& target) const {
    try {
      copy_checked(other, file, kNone, target, progress_);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kNotFound && error.kind() != ErrorKind::kCorrupt) throw;
      return false;
    }
    return true;
  }

  void rebuild(const std::vector<FileRecord>& files, const Staging& staging) {
    std::vector<FileRecord> exported, others;
    for (const FileRecord& file : files) (is_exported(file) ? exported : others).push_back(file);
    if (!others.empty() && is_url(from_.native()))
      throw Error(ErrorKind::kNotFound, "the copy has no sound file of this name",
                  from_ / others.front().file, "repair from another copy, or from the source");
    if (!others.empty()) rebuild_from_source(others, staging);
    if (!exported.empty()) export_again(staging);
    for (const FileRecord& file : files) {
      if (!fits(staging.data("") / file.file, file)) refuse(file.file);
      report_.rebuilt.push_back(file.file);
    }
  }

  /// Whether `file` is an index for other people's readers, which can be derived from our own.
  bool is_exported(const FileRecord& file) const {
    return file.file != kClassesName && file.file != kRejectsName &&
           std::ranges::any_of(manifest_.files,
                               [&](const FileRecord& other) { return other.file == file.file; });
  }

  void export_again(const Staging& staging) const {
    for (const ShardRecord& shard : manifest_.shards) {
      const fs::path made = staging.data("") / shard.index;
      if (!fs::exists(made)) {
        const UniqueFd fd = directory_.open(shard.index);
        std::vector<std::byte> index(file_size(fd.get(), dataset_ / shard.index));
        read_exactly(fd.get(), 0, index, dataset_ / shard.index);
        write_file(made, index);
      }
    }
    publish_exported_files(staging.data(""), manifest_, jobs_);
  }

  void rebuild_from_source(const std::vector<FileRecord>& files, const Staging& staging) {
    Replay again = replay(manifest_, sound_classes(), from_, given_, progress_);
    SplitListing& split = split_of(again, manifest_, from_);
    const Plan plan = plan_for(split, again.options.plan);
    std::set<std::size_t> shards;
    for (const FileRecord& file : files) {
      if (file.file == kClassesName) {
        write_file(staging.data("") / kClassesName,
                   as_bytes(class_list_text(again.listing.classes)));
      } else if (file.file == kRejectsName) {
        write_file(staging.data("") / kRejectsName,
                   as_bytes(rejects_text(rejects_again(again, split))));
      } else {
        shards.insert(number_of(file.file));
      }
    }
    rebuild_shards(shards, again, split, plan, staging);
  }

  void rebuild_shards(const std::set<std::size_t>& shards, const Replay& again,
                      const SplitListing& split, const Plan& plan, const Staging& staging) {
    const ShardJob job{*again.source,
                       again.listing,
                       split,
                       plan,
                       again.options,
                       again.keep_keys,
                       staging.data(""),
                       staging.receipts(""),
                       2 * static_cast<std::size_t>(jobs_) + 2,
                       nullptr};
    for (const std::size_t shard : shards) {
      if (shard >= plan.shards()) continue;  // the source has become smaller
      progress_.total_samples += plan.shard_begin(shard + 1) - plan.shard_begin(shard);
    }
    const std::stop_token stop = current_stop();
    tbb::task_arena arena(jobs_);
    for (const std::size_t shard : shards) {
      if (shard >= plan.shards()) continue;
      arena.execute([&] {  // perhaps in another thread
        const StopScope scope(stop);
        pack_shard(job, shard, progress_);
      });
    }
  }

  /// The class list, unless it is damaged itself.
  std::vector<std::string> sound_classes() const {
    for (const FileRecord& file : manifest_.files) {
      if (file.file == kClassesName && is_sound(file))
        return parse_class_list(directory_.read_text(file.file), dataset_ / kClassesName);
    }
    return {};
  }

  std::vector<Reject> rejects_again(const Replay& again, const SplitListing& split) const {
    std::vector<Reject> rejects = split.rejects;
    std::mutex mutex;
    const ItemPreparer preparer(*again.source, split, again.listing, again.options);
    run_batches(jobs_, split.entries.size(), 64, [&](std::size_t begin, std::size_t end) {
      PackItem item;
      for (std::size_t i = begin; i < end; ++i) {
        preparer.prepare(item, i);
        if (item.problem.empty()) continue;
        const std::scoped_lock lock(mutex);
        rejects.push_back({printable(item.entry.path), item.problem});
      }
    });
    std::ranges::sort(rejects, {}, &Reject::path);
    return rejects;
  }

  [[noreturn]] void refuse(const std::string& file) const {
    throw Error(ErrorKind::kCorrupt,
                "packing the source again does not give the original file; nothing was changed",
                dataset_ / file,
                "the source may have changed, `pack` may have had options that are needed here, "
                "too (`classes=`, `labels=`, `include=`, ...), or packhorse " +
                    manifest_.version +
                    " and its libraries may have written other bytes; `inspect(against=SOURCE)` "
                    "shows what differs");
  }

  void replace(const std::string& file, const Staging& staging) const {
    directory_.replace(staging.data("") / file, file);
  }

  static constexpr auto kNone = DatasetDirectory::Links::kNone;
  const DatasetDirectory directory_;
  const fs::path& dataset_;
  const fs::path& from_;
  const PackOptions& given_;
  Progress& progress_;
  const Manifest manifest_;
  const DatasetDirectory::Links links_;
  const int jobs_;
  RepairReport report_;
};

}  // namespace

RepairReport repair(const fs::path& dataset, const fs::path& from, const PackOptions& options,
                    Progress* progress, std::stop_token stop) {
  const StopScope scope(stop);
  Progress unseen;
  if (progress == nullptr) progress = &unseen;
  refuse_url(dataset.native());
  if (!is_packed_dataset(dataset)) static_cast<void>(find_datasets(dataset));  // throws with advice
  return Repair(dataset, from, options, *progress).run();
}

}  // namespace packhorse
