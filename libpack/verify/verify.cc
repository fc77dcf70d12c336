#include "packhorse/verify/verify.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "base/file.h"
#include "base/parallel.h"
#include "base/resources.h"
#include "base/stop.h"
#include "base/text.h"
#include "dataset/dataset_directory.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"
#include "sources/source.h"
#include "verify/shard.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// Checks dataset.json and SHA256SUMS against each other: each can be derived byte by byte from the
/// other files.
void verify_manifest(const DatasetDirectory& dataset, const std::string& text,
                     const Manifest& manifest, std::vector<Finding>& findings) {
  const auto add = [&](std::string_view file, std::string detail) {
    findings.push_back(
        {FindingKind::kManifest, std::string(file), -1, {}, 0, 0, std::move(detail)});
  };
  const std::string sum = sha256(as_bytes(text));
  bool sums_readable = true;
  std::string sums;
  try {
    sums = dataset.read_text(std::string(kSumsName));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    add(kSumsName, error.what());
    sums_readable = false;
  }
  if (text != manifest.serialise()) {
    add(kManifestName, "it is not in the form that packhorse writes");
  } else if (sums_readable &&
             sums.find(sum + "  " + std::string(kManifestName) + "\n") == std::string::npos) {
    add(kManifestName, "its SHA-256 is not the one in SHA256SUMS");
  } else if (sums_readable && sums != manifest.sums()) {
    add(kSumsName, "it does not match dataset.json");
  }
  const std::uint64_t labelled = std::accumulate(manifest.class_samples.begin(),
                                                 manifest.class_samples.end(), std::uint64_t{0});
  std::uint64_t samples = 0;
  for (const ShardRecord& shard : manifest.shards) samples += shard.samples;
  if (!manifest.accounting.balanced() || manifest.accounting.packed != manifest.samples ||
      samples != manifest.samples || labelled != manifest.samples) {
    add(kManifestName, "its counts do not add up");
  }
}

/// Whether a reader would still find the dataset that was verified.
bool is_still(const DatasetDirectory& dataset, const std::string& manifest) try {
  return dataset.still_there() && dataset.read_text(std::string(kManifestName)) == manifest;
} catch (const Error& error) {
  return dataset.remote() && error.kind() != ErrorKind::kNotFound;  // unreachable says nothing
}

/// A unit of work for one thread.
struct Step {
  enum class Kind { kBytes, kRows, kStructure, kDecode } kind;
  std::size_t shard = 0;  ///< place in Check::shards_
  std::size_t first = 0, rows = 0;
};

/// What one part of a check covers.
struct Share {
  bool by_shard = true;
  std::vector<std::size_t> whole;               ///< shards that are checked completely
  std::uint64_t first_sample = 0, samples = 0;  ///< if not by_shard: bytes checked
};

Share share_of(const Manifest& manifest, const VerifyPart& part) {
  Share share;
  share.by_shard = manifest.shards.size() >= part.count;
  for (std::size_t shard = 0; shard < manifest.shards.size(); ++shard) {
    if (shard % part.count == part.index) share.whole.push_back(shard);
  }
  if (share.by_shard) return share;
  share.first_sample = manifest.samples * part.index / part.count;
  share.samples = manifest.samples * (part.index + 1) / part.count - share.first_sample;
  return share;
}

std::string words_of(const Share& share, const Manifest& manifest, const VerifyPart& part) {
  std::string shards;
  for (const std::size_t shard : share.whole)
    shards += (shards.empty() ? "" : ", ") + manifest.shards[shard].file;
  const auto number = [](std::uint64_t n) { return std::to_string(n); };
  std::string text = "part " + number(part.index) + " of " + number(part.count) + ": ";
  if (share.by_shard) {
    return text + number(share.whole.size()) + " of " + number(manifest.shards.size()) +
           " shards: " + shards;
  }
  text += share.samples == 0 ? "no samples"
                             : "samples " + number(share.first_sample) + " to " +
                                   number(share.first_sample + share.samples - 1);
  text += " of " + number(manifest.samples);
  return text + (shards.empty() ? "" : ", and all of " + shards);
}

/// Everything one call to verify() works on.
class Check {
 public:
  /// `text`: the manifest as it is stored.
  Check(const DatasetDirectory& dataset, const std::string& text, const Manifest& manifest,
        const VerifyOptions& options, Progress& progress)
      : manifest_(manifest),
        options_(options),
        share_(share_of(manifest, options.part)),
        meter_(progress, passes()) {
    if (dataset.remote() && options.level == VerifyLevel::kFull)
      copies_ = std::make_unique<ShardCopies>(dataset, text);
    for (const ShardRecord& record : manifest.shards)
      shards_.push_back(
          std::make_unique<ShardCheck>(dataset, manifest, record, options_, copies_.get(), meter_));
    choose();
    progress.total_samples += samples_;
  }

  void run(VerifyReport& report) {
    const int jobs = options_.jobs > 0 ? options_.jobs : available_cpus();
    run_parallel(jobs, opened_.size(), [&](std::size_t i) { shards_[opened_[i].shard]->open(); });
    plan();
    arrange(static_cast<std::size_t>(jobs));
    if (copies_) copy(static_cast<std::size_t>(jobs));
    run_parallel(jobs, steps_.size(), [&](std::size_t i) { run(steps_[i]); });
    collect(report);
  }

 private:
  std::uint64_t passes() const {
    if (options_.level == VerifyLevel::kQuick) return 1;
    return std::uint64_t{1} + (options_.walkers ? 1u : 0u) + (options_.decode ? 1u : 0u);
  }

  void add(Step::Kind kind, std::size_t shard, std::size_t first, std::size_t rows) {
    steps_.push_back({kind, shard, first, rows});
  }

  /// Chooses the shards to look into.
  void choose() {
    std::vector<bool> whole(shards_.size());
    for (const std::size_t shard : share_.whole) whole[shard] = true;
    for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
      const ShardRecord& record = manifest_.shards[shard];
      const std::uint64_t begin = std::max(share_.first_sample, record.first_sample);
      const std::uint64_t end =
          std::min(share_.first_sample + share_.samples, record.first_sample + record.samples);
      const std::uint64_t rows = begin < end ? end - begin : 0;
      if (!whole[shard] && rows == 0) continue;
      const std::uint64_t first = whole[shard] ? 0 : begin - record.first_sample;
      opened_.push_back({shard, whole[shard], first, whole[shard] ? record.samples : rows});
      samples_ += opened_.back().rows;
    }
  }

  /// Plans the steps, once shards are open: only an index that fits says how many rows there are.
  void plan() {
    if (options_.level == VerifyLevel::kQuick) return;
    for (const Opened& one : opened_) {
      add(one.whole ? Step::Kind::kBytes : Step::Kind::kRows, one.shard, one.first, one.rows);
      if (one.whole && options_.walkers) add(Step::Kind::kStructure, one.shard, 0, 0);
      if (!options_.decode) continue;
      if (!shards_[one.shard]->has_index()) meter_.add(one.rows);
      const std::uint64_t end = one.first + (shards_[one.shard]->has_index() ? one.rows : 0);
      constexpr std::uint64_t kImages = 256;
      for (std::uint64_t at = one.first; at < end; at += kImages)
        add(Step::Kind::kDecode, one.shard, at, std::min(kImages, end - at));
    }
  }

  /// Orders the steps: first the bytes of as many shards as there are threads, then the walks of
  /// these shards, which find them in memory.
  void arrange(std::size_t jobs) {
    const auto order = [&](const Step& step) {
      return std::pair(step.shard / jobs,
                       step.kind == Step::Kind::kBytes || step.kind == Step::Kind::kRows ? 0 : 1);
    };
    std::ranges::stable_sort(steps_,
                             [&](const Step& a, const Step& b) { return order(a) < order(b); });
  }

  /// Begins to copy what the steps need. The shards of two groups suffice: those of one are walked
  /// while the bytes of the next are checked.
  void copy(std::size_t jobs) {
    std::vector<ShardCopies::Wanted> wanted;
    copy_of_.assign(shards_.size(), kNoCopy);
    for (const Step& step : steps_) {
      std::size_t& place = copy_of_[step.shard];
      const std::optional<std::uint64_t> bytes = shards_[step.shard]->data_bytes();
      if (!bytes) continue;
      if (place == kNoCopy) {
        place = wanted.size();
        const ShardRecord& record = manifest_.shards[step.shard];
        wanted.push_back({record.file, *bytes, *bytes == record.bytes ? record.sha256 : "", 0});
      }
      ++wanted[place].uses;
    }
    copies_->start(std::move(wanted), 2 * jobs);
  }

  void run(const Step& step) {
    const std::size_t copy = copies_ ? copy_of_[step.shard] : kNoCopy;
    if (copy == kNoCopy) return look(step);
    copies_->wait_for(copy);
    look(step);
    copies_->release(copy);
  }

  void look(const Step& step) {
    ShardCheck& shard = *shards_[step.shard];
    switch (step.kind) {
      case Step::Kind::kBytes:
        return shard.bytes();
      case Step::Kind::kRows:
        return shard.bytes_of(step.first, step.rows);
      case Step::Kind::kStructure:
        return shard.structure();
      case Step::Kind::kDecode:
        return shard.decode(step.first, step.rows);
    }
  }

  void collect(VerifyReport& report) {
    std::uint64_t not_walked = 0;
    for (const Opened& one : opened_) {
      const std::size_t shard = one.shard;
      std::vector<Finding> found = shards_[shard]->findings();
      std::move(found.begin(), found.end(), std::back_inserter(report.findings));
      report.walked += shards_[shard]->walked() ? 1u : 0u;
      not_walked += shards_[shard]->not_walked() ? 1u : 0u;
      report.decoded += shards_[shard]->decoded();
    }
    report.isolated = options_.walkers != nullptr;
    report.files += 2 * opened_.size();
    report.samples = samples_;
    if (options_.part.count > 1) report.notes.push_back(words_of(share_, manifest_, options_.part));
    if (not_walked > 0) {
      report.notes.push_back(
          "damaged shards whose structure was not checked: " + std::to_string(not_walked) +
          " (that may crash the process, and no separate one is available)");
    }
  }

  const Manifest& manifest_;
  const VerifyOptions& options_;
  const Share share_;
  Meter meter_;
  std::unique_ptr<ShardCopies> copies_;  ///< of a dataset at a URL
  static constexpr std::size_t kNoCopy = ~std::size_t{0};
  std::vector<std::size_t> copy_of_;  ///< by shard: its place among the copies
  std::vector<std::unique_ptr<ShardCheck>> shards_;
  struct Opened {
    std::size_t shard = 0;
    bool whole = false;
    std::uint64_t first = 0, rows = 0;  ///< rows whose bytes are checked
  };
  std::vector<Opened> opened_;
  std::vector<Step> steps_;
  std::uint64_t samples_ = 0;
};

/// Names who wrote the damaged files of a dataset whose shards others made.
void name_writers(const Manifest& manifest, std::vector<Finding>& findings) {
  std::set<std::string_view> shards;
  for (const ShardRecord& record : manifest.shards) shards.insert(record.file);
  for (Finding& finding : findings) {
    finding.writer =
        shards.contains(finding.shard) ? Finding::Writer::kOthers : Finding::Writer::kIndex;
  }
}

VerifyReport verify(const DatasetDirectory& dataset, const std::string& text,
                    const VerifyOptions& options, Progress& progress) {
  VerifyReport report;
  Manifest manifest;
  report.files = 1;
  try {
    manifest = Manifest::parse(text, dataset.path() / kManifestName);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kCorrupt) throw;
    report.findings.push_back(
        {FindingKind::kManifest, std::string(kManifestName), -1, {}, 0, 0, error.what()});
    return report;
  }
  const std::uint64_t bytes_before = progress.bytes;
  verify_manifest(dataset, text, manifest, report.findings);
  for (const FileRecord& file : manifest.files) {
    verify_file(dataset, file.file, file.bytes, file.sha256, report.findings);
  }
  report.files += 1 + manifest.files.size();
  Check(dataset, text, manifest, options, progress).run(report);
  if (manifest.adopted) name_writers(manifest, report.findings);
  report.bytes = progress.bytes - bytes_before;
  return report;
}

}  // namespace

VerifyPart VerifyPart::parse(const std::string& text) {
  if (const auto part = parse_part<std::size_t>(text); part && part->second <= 1'000'000)
    return {part->first, part->second};
  throw Error(ErrorKind::kUsage, "'" + text + "' is not a valid part", {},
              "give I/N with 0 <= I < N, e.g. 0/10 to 9/10");
}

VerifyReport verify(const fs::path& dataset, const VerifyOptions& options, Progress* progress,
                    std::stop_token stop) {
  const StopScope scope(stop);
  Progress unseen;
  if (progress == nullptr) progress = &unseen;
  if (!is_packed_dataset(dataset))
    static_cast<void>(find_datasets(dataset));  // throws with the right advice
  const DatasetDirectory directory(dataset);
  const std::string text = directory.read_text(std::string(kManifestName));
  std::optional<VerifyReport> report;
  try {
    report = verify(directory, text, options, *progress);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted || is_still(directory, text)) throw;
  }
  if (!report || !is_still(directory, text)) {
    throw Error(ErrorKind::kIo, "the dataset was replaced or removed while it was being verified",
                dataset, "verify it again");
  }
  return std::move(*report);
}

}  // namespace packhorse
