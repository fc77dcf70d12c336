#include "packhorse/checking/check.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "base/choices.h"
#include "base/hash.h"
#include "base/option.h"
#include "base/parallel.h"
#include "base/paths.h"
#include "base/permutation.h"
#include "base/printable.h"
#include "base/resources.h"
#include "base/stop.h"
#include "base/text.h"
#include "checking/check_config.h"
#include "checking/finding_log.h"
#include "checking/sample_look.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packing/select.h"
#include "sources/source.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kAtOnce = 64;         // samples that a thread takes
constexpr std::uint64_t kFirstRound = 384;  // images decoded before their share is estimated
constexpr double kWantedShare = 0.01;
constexpr std::uint64_t kDecodeKey = 0x636865636b;  // "check": which images are decoded
constexpr int kLikeness = 6;                        // bits
constexpr std::uint64_t kFewSamples = 5, kUnbalanced = 100;
constexpr std::size_t kMostPictures = 12;  // of a finding
constexpr int kPictureSide = 96;
constexpr std::uint64_t kSmallFile = 1u << 20, kManyFiles = 1000, kManyInFolder = 50'000;

/// Half of the width of Wilson's interval (95 %) for a share of `failed` in `n`.
double uncertainty(double failed, double n) {
  constexpr double kZ = 1.96, kZ2 = kZ * kZ;
  const double share = failed / n;
  return kZ / (n + kZ2) * std::sqrt(share * (1 - share) * n + kZ2 / 4);
}

/// One line: advice may give several commands, a line each.
std::string with_advice(const std::string& what, const std::string& advice) {
  std::string text = spelled(advice.empty() ? what : what + "; " + advice);
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2)
    text.replace(at, std::min(text.find_first_not_of(" \n", at), text.size()) - at, "; ");
  return text;
}

class Checker {
 public:
  Checker(const fs::path& path, const CheckOptions& options, Progress& progress)
      : path_(path), options_(options), progress_(progress), log_(options_) {
    if (!options.config.empty())
      report_.notes.push_back("the settings in " + printable(options.config.native()) +
                              " choose among the findings");
    packing_ = options.source;
    packing_.image = "original";
    packing_.decode = options.depth == CheckDepth::kAll;
    if (!packing_.list.memory)
      packing_.list.memory = std::make_shared<EntryMemory>(packing_.memory, packing_.list.scratch);
  }

  CheckReport run() {
    const auto begin = std::chrono::steady_clock::now();
    try {
      if (open()) look_at_all();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInterrupted) throw;
      report_.stopped = true;
    }
    report_.findings = log_.findings();
    report_.known = log_.known();
    if (options_.pictures && !report_.stopped) add_pictures();
    report_.looked_at = totals_.looked_at;
    report_.decoded = totals_.decoded;
    report_.objects = totals_.objects;
    report_.object_classes = totals_.objects_of_class.size();
    report_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(report_);
  }

 private:
  /// Lists the source. Returns false when it cannot be read, which is a finding then.
  bool open() try {
    ListOptions list = packing_.list;
    list.exclude = packing_.select.exclude;
    source_ = open_source(path_, packing_.source_kind, list);
    report_.taken_for = source_->opened_as;
    listing_ = list_source(*source_, list);
    if (!packing_.select.empty()) select(*source_, listing_, packing_.select, progress_);
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted || !exists()) throw;
    log_.add("PH001", printable(path_.native()), with_advice(error.what(), error.advice()));
    return false;
  }

  bool exists() const { return is_url(path_.native()) || path_exists(path_); }

  void look_at_all() {
    report_.detected = listing_.detected;
    for (const std::string& note : listing_.notes) report_.notes.push_back(spelled(note));
    report_.classes = listing_.classes.size();
    for (const SplitListing& split : listing_.splits) {
      report_.splits.push_back({split.split, split.entries.size()});
      report_.samples += split.entries.size();
      for (std::size_t i = 0; i < split.entries.size(); ++i)
        report_.bytes += split.entries.size_of(i);
    }
    progress_.total_samples = report_.samples;
    look_at_listing();
    look_at_classes();
    look_at_names();
    look_at_storage();
    look_at_samples();
    if (options_.depth == CheckDepth::kSample) decode_some();
    if (options_.depth != CheckDepth::kHeaders) look_at_copies();
    if (listing_.splits.size() > 1) look_at_likenesses();
    look_at_object_classes();
  }

  void look_at_listing() {
    for (const Doubt& doubt : listing_.doubts)
      if (!packing_.list.allow_odd_classes)
        log_.add(rule_of(doubt.kind), {}, with_advice(doubt.what, doubt.advice));
    for (const SplitListing& split : listing_.splits) {
      const std::string folder = split.prefix().empty() ? "" : printable(split.prefix()) + '/';
      for (const Reject& reject : split.rejects)
        log_.add(rule_of(reject.code), folder + reject.path, reject.reason);
      for (const Skip& skip : split.skips) add_skip(folder + skip.path, skip);
    }
    for (const Skip& skip : listing_.skips) add_skip(skip.path, skip);
  }

  void add_skip(const std::string& path, const Skip& skip) {
    if (path != kCheckConfig) log_.add("PH124", path, std::string(skip.rule));
  }

  std::string class_name(std::size_t label) const { return printable(listing_.classes[label]); }

  void look_at_classes() {
    const std::size_t classes = listing_.classes.size();
    if (classes == 0) return;
    std::vector<std::uint64_t> all(classes);
    std::vector<std::vector<std::uint64_t>> by_split;
    for (const SplitListing& split : listing_.splits) {
      auto& counts = by_split.emplace_back(classes);
      for (std::size_t i = 0; i < split.entries.size(); ++i) {
        const auto label = static_cast<std::size_t>(split.entries.label_of(i));
        if (label >= classes) continue;
        ++counts[label];
        ++all[label];
      }
    }
    if (classes > 1) look_at_balance(all);
    look_at_splits(by_split);
    look_at_numbers();
  }

  void look_at_balance(const std::vector<std::uint64_t>& all) {
    const std::uint64_t largest = *std::ranges::max_element(all);
    for (std::size_t label = 0; label < all.size(); ++label) {
      if (all[label] == 0) continue;
      const std::string detail =
          std::to_string(all[label]) + " of at most " + std::to_string(largest);
      if (all[label] < kFewSamples)
        log_.add("PH405", class_name(label), detail);
      else if (all[label] * kUnbalanced < largest)
        log_.add("PH404", class_name(label), detail);
    }
  }

  void look_at_splits(const std::vector<std::vector<std::uint64_t>>& by_split) {
    const auto train = std::ranges::find(listing_.splits, "train", &SplitListing::split);
    if (train == listing_.splits.end()) return;
    const auto& trained = by_split[static_cast<std::size_t>(train - listing_.splits.begin())];
    for (std::size_t s = 0; s < listing_.splits.size(); ++s) {
      const SplitListing& split = listing_.splits[s];
      if (split.entries.size() == 0) continue;
      for (std::size_t label = 0; label < trained.size(); ++label)
        if (trained[label] > 0 && by_split[s][label] == 0)
          log_.add("PH505", class_name(label), "not in " + printable(split.split));
    }
  }

  void look_at_numbers() {
    std::vector<long> values;
    for (const std::string& name : listing_.classes) {
      const auto value = parse_number<long>(name);
      if (!value) return;
      values.push_back(*value);
    }
    std::vector<long> in_order = values;
    std::ranges::sort(in_order);
    for (std::size_t label = 0; label < values.size(); ++label)
      if (values[label] != in_order[label])
        log_.add("PH407", class_name(label), "its label is " + std::to_string(label));
  }

  void look_at_names() {
    if (!log_.wants(check_rule("PH302"))) return;
    for (const SplitListing& split : listing_.splits) {
      std::unordered_set<std::uint64_t> names;
      names.reserve(split.entries.size());
      for (std::size_t i = 0; i < split.entries.size(); ++i) {
        obey_stop();
        if (!names.insert(xxh3(as_bytes(lower_case(split.entries.path_of(i))))).second)
          log_.add("PH302", shown_path(split, i));
      }
    }
  }

  void look_at_storage() {
    if (!source_->images_are_files() || report_.samples < kManyFiles) return;
    const std::uint64_t mean = report_.bytes / report_.samples;
    if (mean < kSmallFile)
      log_.add("PH801", printable(path_.native()),
               std::to_string(report_.samples) + " files of " + std::to_string(mean) +
                   " bytes on average");
    for (const SplitListing& split : listing_.splits) {
      std::unordered_map<std::string, std::uint64_t> files;
      for (std::size_t i = 0; i < split.entries.size(); ++i)
        ++files[std::string(split.entries.directory_of(i))];
      for (const auto& [folder, count] : files) {
        if (count <= kManyInFolder) continue;
        const std::string& prefix = split.prefix();
        const std::string path = folder.empty() ? prefix : naming::join(prefix, folder);
        log_.add("PH802", path.empty() ? "." : printable(path), std::to_string(count) + " files");
      }
    }
  }

  int jobs() const { return packing_.jobs > 0 ? packing_.jobs : available_cpus(); }

  /// Calls visit(look, entry) for the entries entry_of(0), entry_of(1), ... of a split.
  template <class EntryOf, class Visit>
  void for_each(std::uint32_t split, std::size_t count, const EntryOf& entry_of,
                const Visit& visit) {
    run_batches(jobs(), count, kAtOnce, [&](std::size_t begin, std::size_t end) {
      SampleLook look(*source_, listing_, split, packing_, options_.depth == CheckDepth::kHeaders,
                      log_);
      const auto keep = [&] {
        const std::scoped_lock lock(mutex_);
        totals_.objects_of_class.resize(
            std::max(totals_.objects_of_class.size(), look.totals.objects_of_class.size()));
        totals_.add(look.totals);
        seen_.insert(seen_.end(), look.seen.begin(), look.seen.end());
        pictures_.insert(pictures_.end(), look.pictures.begin(), look.pictures.end());
      };
      try {
        for (std::size_t i = begin; i < end; ++i) visit(look, entry_of(i));
      } catch (...) {  // a stop: what was seen counts
        keep();
        throw;
      }
      keep();
    });
  }

  void look_at_samples() {
    for (std::uint32_t s = 0; s < listing_.splits.size(); ++s)
      for_each(
          s, listing_.splits[s].entries.size(), [](std::size_t i) { return i; },
          [&](SampleLook& look, std::size_t entry) {
            look.look(entry);
            ++progress_.samples;
          });
  }

  /// Decodes images at random, in each split, until the share of those that fail is known.
  void decode_some() {
    for (std::uint32_t s = 0; s < listing_.splits.size(); ++s) {
      const std::size_t all = listing_.splits[s].entries.size();
      const Permutation order(all, kDecodeKey);
      const SampleTotals before = totals_;
      for (std::size_t done = 0, round = kFirstRound; done < all; round = done) {
        const std::size_t count = std::min(round, all - done);
        for_each(
            s, count, [&](std::size_t i) { return order(done + i); },
            [](SampleLook& look, std::size_t entry) { look.decode(entry); });
        done += count;
        const auto decoded = static_cast<double>(totals_.decoded - before.decoded);
        const auto failed = static_cast<double>(totals_.failed - before.failed);
        if (decoded > 0 && uncertainty(failed, decoded) <= kWantedShare) break;
      }
    }
  }

  /// Finds identical files.
  void look_at_copies() {
    std::ranges::sort(seen_, {}, [](const SeenSample& one) {
      return std::tuple(one.hash, one.size, one.split, one.entry);
    });
    const auto same = [](const SeenSample& a, const SeenSample& b) {
      return a.hash == b.hash && a.size == b.size;
    };
    for (auto begin = seen_.begin(); begin != seen_.end();) {
      const auto end =
          std::find_if_not(begin, seen_.end(), [&](const auto& one) { return same(one, *begin); });
      if (end - begin > 1) add_copies({begin, end});
      begin = end;
    }
  }

  /// Of files with one hash, those that have the bytes of the first.
  void add_copies(std::vector<SeenSample> group) {
    std::optional<std::vector<std::byte>> first;
    std::erase_if(group, [&](const SeenSample& one) {
      std::optional<std::vector<std::byte>> bytes = bytes_of(one);
      if (bytes && !first) first = bytes;
      return !bytes || bytes != first;
    });
    if (group.size() < 2) return;
    bool splits = false, classes = false;
    const auto label_of = [&](const SeenSample& one) {
      return listing_.splits[one.split].entries.label_of(one.entry);
    };
    for (const SeenSample& one : group) {
      splits = splits || one.split != group.front().split;
      classes = classes || (!listing_.classes.empty() && label_of(one) != label_of(group.front()));
    }
    constexpr std::size_t kShown = 3;
    std::string others;
    for (std::size_t i = 1; i < std::min(group.size(), kShown); ++i)
      others +=
          (i == 1 ? "= " : ", ") + shown_path(listing_.splits[group[i].split], group[i].entry);
    if (group.size() > kShown) others += " and " + std::to_string(group.size() - kShown) + " more";
    const std::string path = shown_path(listing_.splits[group.front().split], group.front().entry);
    if (splits) log_.add("PH501", path, others);
    if (classes) log_.add("PH403", path, others);
    if (!splits && !classes) log_.add("PH506", path, others);
  }

  /// Finds pictures of one split that look like those of another. Both hashes must be near: one
  /// alone is near by chance too often.
  void look_at_likenesses() {
    std::ranges::sort(pictures_, {}, [](const SeenPicture& one) {
      return std::tuple(one.hashes.brightness, one.split, one.entry);
    });
    std::vector<std::uint64_t> hashes;
    std::vector<std::size_t> begins;
    for (std::size_t i = 0; i < pictures_.size(); ++i) {
      if (!hashes.empty() && hashes.back() == pictures_[i].hashes.brightness) continue;
      hashes.push_back(pictures_[i].hashes.brightness);
      begins.push_back(i);
    }
    begins.push_back(pictures_.size());
    const auto compare = [&](std::size_t a, std::size_t b) {
      for (std::size_t i = begins[a]; i < begins[a + 1]; ++i)
        for (std::size_t j = a == b ? i + 1 : begins[b]; j < begins[b + 1]; ++j)
          if (add_likeness(pictures_[i], pictures_[j])) break;
    };
    for (std::size_t i = 0; i < hashes.size(); ++i) compare(i, i);
    for (const auto& [a, b] : near_pairs(hashes, kLikeness, jobs())) compare(a, b);
  }

  /// Returns whether it is one.
  bool add_likeness(const SeenPicture& a, const SeenPicture& b) {
    if (a.split == b.split || std::popcount(a.hashes.steepness ^ b.hashes.steepness) > kLikeness)
      return false;
    const auto x = bytes_of(a), y = bytes_of(b);
    if (!x || !y || x == y) return false;
    log_.add("PH502", shown_path(listing_.splits[a.split], a.entry),
             "~ " + shown_path(listing_.splits[b.split], b.entry));
    return true;
  }

  /// Reads an image again; one that is no longer there is a finding.
  std::optional<std::vector<std::byte>> bytes_of(const auto& one) {
    obey_stop();
    const SplitListing& split = listing_.splits[one.split];
    try {
      Input input;
      source_->read(split, one.entry, input);
      return std::move(input.bytes);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      log_.add(rule_of(Reason::kUnreadable), shown_path(split, one.entry), error.what());
      return std::nullopt;
    }
  }

  void look_at_object_classes() {
    for (const TargetRecord& target : listing_.targets) {
      if (target.kind != kObjectsTarget) continue;
      for (std::size_t i = 0; i < totals_.objects_of_class.size(); ++i)
        if (totals_.objects_of_class[i] == 0) log_.add("PH608", printable(target.classes[i]));
    }
  }

  /// Makes small pictures of the samples that are examples.
  void add_pictures() {
    std::unordered_map<std::string, std::vector<CheckFinding::Example*>> wanted;
    for (CheckFinding& finding : report_.findings)
      for (std::size_t i = 0; i < std::min(finding.examples.size(), kMostPictures); ++i)
        wanted[finding.examples[i].path].push_back(&finding.examples[i]);
    PackOptions small = packing_;
    small.image = "resize";
    small.transform.short_side = kPictureSide;
    small.decode = false;
    PackItem item;
    for (const SplitListing& split : listing_.splits) {
      const ItemPreparer preparer(*source_, split, listing_, small);
      for (std::size_t i = 0; i < split.entries.size(); ++i) {
        const auto found = wanted.find(shown_path(split, i));
        if (found == wanted.end()) continue;
        preparer.prepare(item, i);
        if (item.problem.empty() && item.image.kind == ImageKind::kJpeg)
          for (CheckFinding::Example* example : found->second)
            example->picture.assign(item.stored.begin(), item.stored.end());
      }
    }
  }

  const fs::path path_;
  const CheckOptions& options_;
  Progress& progress_;
  FindingLog log_;
  PackOptions packing_;
  std::unique_ptr<Source> source_;
  Listing listing_;
  CheckReport report_;
  std::mutex mutex_;  ///< guards what follows
  SampleTotals totals_;
  std::vector<SeenSample> seen_;
  std::vector<SeenPicture> pictures_;
};

}  // namespace

CheckDepth parse_check_depth(std::string_view name) {
  static constexpr std::pair<std::string_view, CheckDepth> kDepths[] = {
      {"headers", CheckDepth::kHeaders},
      {"sample", CheckDepth::kSample},
      {"all", CheckDepth::kAll}};
  std::vector<std::string> names;
  for (const auto& [one, depth] : kDepths) {
    if (one == name) return depth;
    names.emplace_back(one);
  }
  throw Error(ErrorKind::kUsage, opt("decode") + " cannot be '" + printable(name) + "'", {},
              choice_advice(std::string(name), names));
}

void CheckOptions::validate() const {
  source.limits.validate();
  std::vector<std::vector<std::string>> lists = {select, ignore};
  for (const auto& [glob, codes] : ignore_in) lists.push_back(codes);
  for (const auto& list : lists) {
    for (const std::string& beginning : list) {
      const bool begins = std::ranges::any_of(
          check_rules(), [&](const CheckRule& rule) { return rule.code.starts_with(beginning); });
      if (beginning.empty() || !begins)
        throw Error(ErrorKind::kUsage,
                    "no finding has a code that begins with '" + printable(beginning) + "'", {},
                    "give codes such as PH501, or their beginnings, such as PH5");
    }
  }
}

std::uint64_t CheckReport::count(Severity severity) const {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      findings, [&](const CheckFinding& finding) { return finding.rule->severity == severity; }));
}

CheckReport check(const fs::path& path, const CheckOptions& options, Progress* progress,
                  std::stop_token stop) {
  const StopScope scope(stop);
  options.validate();
  CheckOptions all = options;
  if (all.config.empty() && is_file(path / kCheckConfig)) all.config = path / kCheckConfig;
  if (!all.config.empty()) read_check_config(all.config, all);
  Progress unseen;
  return Checker(path, all, progress != nullptr ? *progress : unseen).run();
}

}  // namespace packhorse
