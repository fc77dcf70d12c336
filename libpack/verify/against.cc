#include "packhorse/verify/against.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/numbers_by_hash.h"
#include "base/parallel.h"
#include "base/printable.h"
#include "base/resources.h"
#include "base/stop.h"
#include "dataset/dataset_directory.h"
#include "dataset/shard_index.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/walkers/finding_kind.h"
#include "packing/pack_item.h"
#include "packing/read_ahead.h"
#include "verify/replay.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// What a dataset and its source say differently of their targets: what the fields' bytes do not
/// hold, such as the names of the labels in them.
struct TargetChange {
  FindingKind kind;    ///< kRelabelled, kChanged
  std::string detail;  ///< a sentence for people
};

const TargetRecord* find(const std::vector<TargetRecord>& all, const std::string& name) {
  const auto found = std::ranges::find_if(all, [&](const auto& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

/// The first name that differs, where both have one.
std::optional<TargetChange> renamed(const std::vector<std::string>& a,
                                    const std::vector<std::string>& b, const std::string& what) {
  std::optional<std::size_t> first;
  std::size_t count = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] == b[i]) continue;
    if (!first) first = i;
    ++count;
  }
  if (!first) return std::nullopt;
  return TargetChange{
      FindingKind::kRelabelled,
      fmt::format("{} of its {} {} in the source: number {} is '{}' in the dataset, '{}' there",
                  count, what, count == 1 ? "has another name" : "have other names", *first,
                  printable(a[*first]), printable(b[*first]))};
}

std::optional<TargetChange> change_between(const TargetRecord& ours, const TargetRecord& theirs) {
  const auto changed = [](std::string detail) {
    return TargetChange{FindingKind::kChanged, std::move(detail)};
  };
  if (ours.kind != theirs.kind || ours.text != theirs.text)
    return changed("they are of another kind in the source");
  if (auto change = renamed(ours.classes, theirs.classes, "classes")) return change;
  if (auto change = renamed(ours.keypoints, theirs.keypoints, "key points")) return change;
  const auto counts = [&](const char* what, std::size_t a, std::size_t b) {
    return changed(fmt::format("the dataset has {} {}, the source {}", a, what, b));
  };
  if (ours.classes.size() != theirs.classes.size())
    return counts("classes", ours.classes.size(), theirs.classes.size());
  if (ours.keypoints.size() != theirs.keypoints.size())
    return counts("key points", ours.keypoints.size(), theirs.keypoints.size());
  if (ours.ignore != theirs.ignore)
    return changed("another label stands for pixels of no class in the source");
  if (!ours.head.empty() && !theirs.head.empty() && ours.head != theirs.head)
    return changed(
        "the source's annotation file says otherwise of what is neither image nor annotation "
        "(info, licenses, categories)");
  return std::nullopt;
}

/// One change a field, the gravest. What COCO's file says besides images and annotations is
/// compared where both keep it.
std::vector<TargetChange> target_changes(const std::vector<TargetRecord>& dataset,
                                         const std::vector<TargetRecord>& source) {
  std::vector<TargetChange> changes;
  const auto add = [&](const std::string& field, TargetChange change) {
    change.detail = fmt::format("targets in the field '{}': {}", printable(field), change.detail);
    changes.push_back(std::move(change));
  };
  for (const TargetRecord& ours : dataset) {
    const TargetRecord* const theirs = find(source, ours.name);
    if (theirs == nullptr) {
      add(ours.name, {FindingKind::kChanged, "only the dataset has them"});
    } else if (auto change = change_between(ours, *theirs)) {
      add(ours.name, std::move(*change));
    }
  }
  for (const TargetRecord& theirs : source) {
    if (find(dataset, theirs.name) == nullptr)
      add(theirs.name, {FindingKind::kChanged, "only the source has them"});
  }
  return changes;
}

constexpr std::size_t kBatch = 64;
constexpr std::size_t kWindow = 64 * kBatch;

/// Reads path -> reason from rejects.jsonl. A damaged file is left for verify() to find.
std::map<std::string, std::string> rejects_of(const PackedDataset& dataset) {
  std::map<std::string, std::string> rejects;
  const auto& files = dataset.manifest().files;
  const auto is_named = [](const FileRecord& file) { return file.file == kRejectsName; };
  std::error_code code;
  const bool there = dataset.directory().remote()
                         ? std::ranges::any_of(files, is_named)
                         : fs::exists(fs::symlink_status(dataset.path() / kRejectsName, code));
  if (!there) return rejects;
  const std::string text = dataset.directory().read_text(std::string(kRejectsName));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    try {
      const auto json = parse_json(std::string_view(text).substr(at, end - at));
      rejects.emplace(json.at("path"), json.value("reason", ""));
    } catch (const nlohmann::json::exception&) {
    } catch (const Error&) {
    }
    at = end + 1;
  }
  return rejects;
}

/// The samples of a dataset by their source paths, as printable() writes them: rejects and skips
/// are written that way, too, and different paths stay different.
class SamplesByPath {
 public:
  SamplesByPath(const PackedDataset& dataset, const PackOptions& options)
      : dataset_(dataset),
        samples_(options.memory / 4, options.list.scratch, "the samples' paths") {
    for (std::size_t sample = 0; sample < dataset.size(); ++sample)
      samples_.add(xxh3(as_bytes(path(sample))), sample);
    samples_.close();
  }

  std::string path(std::size_t sample) const {
    const PackedDataset::Place at = dataset_.place(sample);
    return printable(dataset_.index(at.shard)->path(at.row));
  }

  std::optional<std::size_t> find(std::string_view wanted) const {
    std::optional<std::size_t> found;
    samples_.find(xxh3(as_bytes(wanted)), [&](std::uint64_t sample) {
      if (path(sample) == wanted) found = sample;
      return found.has_value();
    });
    return found;
  }

 private:
  const PackedDataset& dataset_;
  NumbersByHash samples_;
};

/// Compares one dataset with the split of the source it was packed from.
class Comparison {
 public:
  /// `prefix` precedes the names of files and inputs.
  Comparison(const fs::path& path, std::string prefix, Replay& replay, const fs::path& source,
             Progress& progress)
      : dataset_(path),
        prefix_(std::move(prefix)),
        replay_(replay),
        split_(split_of(replay, dataset_.manifest(), source)),
        progress_(progress),
        seen_(dataset_.size()),
        rejects_(rejects_of(dataset_)),
        preparer_(*replay.source, split_, replay.listing, replay.options) {
    refuse_without_paths();
    progress.total_samples += split_.entries.size();
  }

  const SplitListing& split() const { return split_; }

  void run(AgainstReport& report) {
    samples_.emplace(dataset_, replay_.options);
    const std::size_t n = split_.entries.size();
    const int jobs = replay_.options.jobs > 0 ? replay_.options.jobs : available_cpus();
    ReadAhead read_ahead(*replay_.source);
    run_batches(jobs, n, kBatch, [&](std::size_t begin, std::size_t end) {
      if (begin % kWindow == 0) announce(read_ahead, begin);
      thread_local PackItem item;
      for (std::size_t i = begin; i < end; ++i) {
        preparer_.prepare(item, i);
        compare(item);
        item.shrink();
      }
    });
    for (const Reject& reject : split_.rejects) compare(reject);
    find_extra();
    compare_classes();
    compare_targets();
    std::ranges::sort(findings_, [](const Finding& a, const Finding& b) {
      return std::tie(a.path, a.kind, a.detail) < std::tie(b.path, b.kind, b.detail);
    });
    std::move(findings_.begin(), findings_.end(), std::back_inserter(report.findings));
    report.compared += n;
    report.bytes += bytes_;
    report.rejected += rejected_;
    if (mended_ > 0) {
      report.notes.push_back(std::to_string(mended_) + (mended_ == 1 ? " input" : " inputs") +
                             " listed in rejects.jsonl could be packed now");
    }
  }

 private:
  void refuse_without_paths() const {
    for (std::size_t sample = 0; sample < dataset_.size(); ++sample) {
      const PackedDataset::Place at = dataset_.place(sample);
      if (!dataset_.index(at.shard)->path(at.row).empty()) continue;
      throw Error(ErrorKind::kUnsupported,
                  "the dataset does not say which input its samples come from", dataset_.path(),
                  "it can be verified, but not compared with a source");
    }
  }

  void announce(ReadAhead& read_ahead, std::size_t begin) const {
    std::vector<std::size_t> entries;
    for (std::size_t i = begin; i < std::min(split_.entries.size(), begin + kWindow); ++i)
      entries.push_back(i);
    // Not owned: the listing outlives the reading ahead.
    read_ahead.want(std::shared_ptr<const SplitListing>(std::shared_ptr<void>(), &split_),
                    std::move(entries));
  }

  void compare(const PackItem& item) {
    ++progress_.samples;
    progress_.bytes += item.bytes_in();
    bytes_ += item.bytes_in();
    const std::string path = printable(item.entry.path);
    const std::optional<std::size_t> sample = samples_->find(path);
    if (!sample) return not_there(path, item.problem.text);
    seen_[*sample] = 1;
    if (!item.problem.empty()) return no_longer_packed(*sample, path, item.problem.text);
    const PackedDataset::Place at = dataset_.place(*sample);
    const auto held = dataset_.index(at.shard);
    const ShardIndex& index = *held;
    if (item.hash != index.hash(at.row)) {
      add(FindingKind::kChanged, sample, path, "the source has a different image");
    } else if (item.image != index.image(at.row)) {
      add(FindingKind::kChanged, sample, path, "the index describes a different image");
    }
    compare_fields(item, *sample, path, index, at.row);
    compare_label(item, *sample, path, index.label(at.row));
  }

  void not_there(const std::string& path, const std::string& reason) {
    if (rejects_.contains(without_secrets(path))) {
      ++rejected_;
      if (reason.empty()) ++mended_;
      return;
    }
    add(FindingKind::kMissing, std::nullopt, path,
        reason.empty() ? "the source has it, the dataset does not"
                       : "the source has it, the dataset neither holds nor rejected it; it cannot "
                         "be packed: " +
                             reason);
  }

  /// Compares an input that the listing itself rejects. Its path may be a line of a list.
  void compare(const Reject& reject) {
    const std::optional<std::size_t> sample = samples_->find(reject.path);
    // An archive may hold several files of one name, all but one of which are rejects.
    if (!sample || seen_[*sample] != 0) return not_there(reject.path, reject.reason);
    seen_[*sample] = 1;
    no_longer_packed(*sample, reject.path, reject.reason);
  }

  void no_longer_packed(std::size_t sample, const std::string& path, const std::string& reason) {
    add(FindingKind::kChanged, sample, path, "it can no longer be packed: " + reason);
  }

  void compare_fields(const PackItem& item, std::size_t sample, const std::string& path,
                      const ShardIndex& index, std::size_t row) {
    const std::vector<std::string> theirs = replay_.listing.stored_fields();
    std::vector<std::string> differ;
    for (std::size_t f = 0; f < theirs.size(); ++f) {
      const auto ours = std::ranges::find(index.fields(), theirs[f]);
      const auto place = static_cast<std::size_t>(ours - index.fields().begin());
      const bool is_here = ours != index.fields().end() && index.has_field(row, place);
      const bool is_there = has_field(item, theirs[f]);
      if (is_here != is_there || (is_here && index.field_hash(row, place) != item.field_hashes[f]))
        differ.push_back(theirs[f]);
    }
    for (std::size_t f = 0; f < index.fields().size(); ++f) {
      const bool listed = std::ranges::find(theirs, index.fields()[f]) != theirs.end();
      if (!listed && index.has_field(row, f)) differ.push_back(index.fields()[f]);
    }
    for (const std::string& name : differ) {
      add(FindingKind::kChanged, sample, path,
          "the field '" + name + "' differs from the source, or only one of them has it");
    }
  }

  static bool has_field(const PackItem& item, const std::string& name) {
    return std::ranges::any_of(item.fields, [&](const Field& field) { return field.name == name; });
  }

  /// Compares classes by name, since the source may have new classes.
  void compare_label(const PackItem& item, std::size_t sample, const std::string& path,
                     std::int64_t label) {
    const auto name = [](const std::vector<std::string>& classes, std::int64_t number) {
      const auto at = static_cast<std::size_t>(number);
      return at < classes.size() ? classes[at] : std::to_string(number);
    };
    const std::string ours = name(dataset_.classes(), label);
    const std::string theirs = name(replay_.listing.classes, item.entry.label);
    if (ours == theirs) return;
    add(FindingKind::kRelabelled, sample, path,
        "its class is '" + ours + "' in the dataset and '" + theirs + "' in the source");
  }

  void find_extra() {
    std::map<std::string_view, std::string_view> skipped;
    for (const Skip& skip : split_.skips) skipped.emplace(skip.path, skip.rule);
    for (std::size_t sample = 0; sample < seen_.size(); ++sample) {
      if (seen_[sample] != 0) continue;
      const std::string path = samples_->path(sample);
      const auto skip = skipped.find(path);
      add(FindingKind::kExtra, sample, path,
          skip == skipped.end()
              ? "the dataset has it, the source does not"
              : "the dataset has it; in the source it is skipped: " + std::string(skip->second));
    }
  }

  /// A list that is given must number the classes as the dataset does. It may go on.
  void compare_classes() {
    const std::vector<std::string>& given = replay_.options.list.classes;
    const std::vector<std::string>& ours = dataset_.classes();
    if (given.empty()) return;
    const auto [here, there] = std::mismatch(ours.begin(), ours.end(), given.begin(), given.end());
    if (here == ours.end()) return;
    add(FindingKind::kRelabelled, std::nullopt, std::string(kClassesName),
        "class number " + std::to_string(here - ours.begin()) + " is '" + printable(*here) +
            "' in the dataset, and " +
            (there == given.end() ? "none" : "'" + printable(*there) + "'") +
            " in the class list that is given");
  }

  void compare_targets() {
    std::vector<TargetRecord> theirs = replay_.listing.targets;
    for (TargetRecord& target : theirs)
      if (target.kind == kObjectsTarget) target.head = split_.target_head;
    for (TargetChange& change : target_changes(dataset_.manifest().targets, theirs))
      add(change.kind, std::nullopt, std::string(kManifestName), std::move(change.detail));
  }

  void add(FindingKind kind, std::optional<std::size_t> sample, const std::string& path,
           std::string detail) {
    Finding finding{kind, {}, -1, {}, 0, 0, std::move(detail), printable(prefix_) + path};
    if (sample) {
      const PackedDataset::Place at = dataset_.place(*sample);
      const auto held = dataset_.index(at.shard);
      const ShardIndex& index = *held;
      const ByteRange range = index.compressed() ? index.frame(at.row).stored : index.range(at.row);
      finding.shard = prefix_ + dataset_.manifest().shards[at.shard].file;
      finding.sample = static_cast<std::int64_t>(*sample);
      finding.key = index.key(at.row);
      finding.offset = range.offset;
      finding.length = range.length;
    }
    const std::scoped_lock lock(mutex_);
    findings_.push_back(std::move(finding));
  }

  const PackedDataset dataset_;
  const std::string prefix_;
  const Replay& replay_;
  const SplitListing& split_;
  Progress& progress_;
  std::optional<SamplesByPath> samples_;  ///< while it runs
  std::vector<std::atomic<std::uint8_t>> seen_;
  const std::map<std::string, std::string> rejects_;
  const ItemPreparer preparer_;
  std::atomic<std::uint64_t> bytes_{0}, rejected_{0}, mended_{0};
  std::mutex mutex_;
  std::vector<Finding> findings_;
};

bool packed_alike(const Manifest& a, const Manifest& b) {
  return a.image == b.image && a.image_settings == b.image_settings && a.fields == b.fields &&
         a.shuffle == b.shuffle && a.seed == b.seed;
}

/// Finds splits of the source that none of the datasets was packed from. A single dataset may be
/// one split of many, so these are only noted then.
void find_missing_splits(const Replay& replay,
                         const std::vector<std::unique_ptr<Comparison>>& comparisons,
                         AgainstReport& report) {
  for (const SplitListing& split : replay.listing.splits) {
    const bool known = std::ranges::any_of(
        comparisons, [&](const auto& comparison) { return &comparison->split() == &split; });
    if (known || split.entries.size() == 0) continue;
    if (comparisons.size() == 1) {
      report.notes.push_back("the source's split '" + split.split + "' was not compared");
      continue;
    }
    report.findings.push_back({FindingKind::kMissing,
                               {},
                               -1,
                               {},
                               0,
                               0,
                               "the dataset lacks this split of the source, with " +
                                   std::to_string(split.entries.size()) + " inputs",
                               printable(split.split)});
  }
}

}  // namespace

AgainstReport compare_with_source(const std::vector<fs::path>& datasets, const fs::path& source,
                                  const PackOptions& options, Progress* progress,
                                  std::stop_token stop) {
  const StopScope scope(stop);
  Progress unseen;
  if (progress == nullptr) progress = &unseen;
  const PackedDataset first(datasets.front());
  for (const fs::path& path : datasets) {
    if (packed_alike(Manifest::load(path), first.manifest())) continue;
    throw Error(ErrorKind::kUsage, "the splits were packed with different options", path,
                "compare them one by one");
  }
  Replay again = replay(first.manifest(), first.classes(), source, options, *progress);
  std::vector<std::unique_ptr<Comparison>> comparisons;
  for (const fs::path& path : datasets) {
    const std::string prefix = datasets.size() > 1 ? path.filename().string() + "/" : "";
    comparisons.push_back(std::make_unique<Comparison>(path, prefix, again, source, *progress));
  }
  AgainstReport report;
  for (const auto& comparison : comparisons) comparison->run(report);
  find_missing_splits(again, comparisons, report);
  return report;
}

}  // namespace packhorse
