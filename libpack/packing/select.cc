#include "packing/select.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>

#include "base/printable.h"
#include "base/text.h"
#include "base/xxh3.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packing/content.h"

namespace packhorse {

namespace {

enum class Verdict : std::uint8_t { kKept, kNotIncluded, kExcluded, kDuplicate, kClass, kLimit };

/// Manifests keep these words, and older ones are read with them, so they never change.
constexpr std::array<std::string_view, 6> kRules = {
    "",
    "matches no --include",
    naming::kExcluded,
    "identical to another input (--deduplicate drop)",
    "beyond --sample-per-class",
    "beyond --limit",
};

/// One split on its way through the selection.
struct Work {
  SplitListing listing;
  std::vector<Verdict> verdicts;

  explicit Work(SplitListing split)
      : listing(std::move(split)), verdicts(listing.entries.size(), Verdict::kKept) {}
  std::size_t size() const { return verdicts.size(); }
  bool kept(std::size_t i) const { return verdicts[i] == Verdict::kKept; }
  std::string full_path(std::size_t i) const {
    return listing.glob_path(listing.entries.path_of(i));
  }
};

void apply_globs(Work& work, const SelectOptions& options) {
  if (options.include.empty() && options.exclude.empty()) return;
  for (std::size_t i = 0; i < work.size(); ++i) {
    const std::string path = work.full_path(i);
    if (!options.include.empty() && !matches_any(options.include, path)) {
      work.verdicts[i] = Verdict::kNotIncluded;
    } else if (matches_any(options.exclude, path)) {
      work.verdicts[i] = Verdict::kExcluded;
    }
  }
}

/// What could not be packed is no loss where it is not wanted.
void apply_globs(SplitListing& split, const SelectOptions& options) {
  std::erase_if(split.rejects, [&](const Reject& reject) {
    const std::string path = split.glob_path(reject.path);
    const bool out = matches_any(options.exclude, path);
    if (!out && (options.include.empty() || matches_any(options.include, path))) return false;
    split.skips.push_back({reject.path, kRules.at(static_cast<std::size_t>(
                                            out ? Verdict::kExcluded : Verdict::kNotIncluded))});
    return true;
  });
}

/// One of several identical inputs. Looked up once: it may lie in a file.
struct Identical {
  Identical(const Work& work, ContentPlace at)
      : in_train(work.listing.split == "train"),
        path(work.full_path(at.entry)),
        label(work.listing.entries.label_of(at.entry)),
        place(at) {}
  /// "train" gives way, so evaluation images stay; then the first by path stays.
  bool stays_before(const Identical& other) const {
    return std::tie(in_train, path) < std::tie(other.in_train, other.path);
  }

  bool in_train;
  std::string path;
  std::int64_t label;
  ContentPlace place;
};

DuplicateGroup describe(const std::vector<Identical>& found) {
  DuplicateGroup group;
  for (const Identical& one : found) {
    group.members.push_back({printable(one.path), one.label, false});
    group.across_splits = group.across_splits || one.place.split != found.front().place.split;
    group.across_classes = group.across_classes || one.label != found.front().label;
  }
  return group;
}

std::vector<DuplicateGroup> find_duplicates(std::vector<Work>& works, Contents& contents,
                                            bool drop) {
  std::vector<DuplicateGroup> groups;
  for (const std::vector<ContentPlace>& places : contents.identical()) {
    std::vector<Identical> found;
    for (const ContentPlace place : places) found.emplace_back(works[place.split], place);
    std::ranges::sort(found,
                      [](const Identical& a, const Identical& b) { return a.stays_before(b); });
    groups.push_back(describe(found));
    for (std::size_t i = 1; drop && i < found.size(); ++i) {
      works[found[i].place.split].verdicts[found[i].place.entry] = Verdict::kDuplicate;
      groups.back().members[i].dropped = true;
    }
  }
  std::ranges::sort(groups, [](const DuplicateGroup& a, const DuplicateGroup& b) {
    return a.members.front().path < b.members.front().path;
  });
  return groups;
}

/// The index of the weight whose share a hash falls into.
std::size_t share_of(std::uint64_t hash, const std::vector<unsigned>& weights) {
  const std::uint64_t total = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  std::uint64_t at = ((hash >> 32) * total) >> 32;  // weights are small enough for this
  std::size_t share = 0;
  for (; at >= weights[share]; ++share) at -= weights[share];
  return share;
}

std::vector<Work> split_by_content(Work whole, Contents& contents,
                                   const std::vector<unsigned>& weights) {
  static constexpr std::array<const char*, 3> kNames = {"train", "val", "test"};
  std::vector<SplitListing> parts(weights.size());
  std::vector<std::vector<Verdict>> verdicts(weights.size());
  for (std::size_t s = 0; s < parts.size(); ++s) {
    parts[s].split = kNames[s];
    parts[s].origin = whole.listing.origin;
    parts[s].target_head = whole.listing.target_head;
    parts[s].entries = EntryTable(whole.listing.entries.memory());
  }
  const auto put = [&](std::size_t i, std::size_t share) {
    parts[share].entries.add_from(whole.listing.entries, i);
    verdicts[share].push_back(whole.verdicts[i]);
  };
  // An input that was left out or cannot be read has no hash: it counts in the first split.
  std::size_t next = 0;
  contents.for_each([&](ContentPlace place, std::uint64_t hash) {
    for (; next < place.entry; ++next) put(next, 0);
    put(next, whole.kept(next) ? share_of(hash, weights) : 0);
    ++next;
  });
  for (; next < whole.size(); ++next) put(next, 0);
  parts[0].rejects = std::move(whole.listing.rejects);
  parts[0].skips = std::move(whole.listing.skips);
  std::vector<Work> works;
  for (std::size_t s = 0; s < parts.size(); ++s) {
    works.emplace_back(std::move(parts[s]));
    works.back().verdicts = std::move(verdicts[s]);
  }
  return works;
}

/// Leaves out all but `n` of the entries it is shown, in their order: keeps the first ones, or
/// those that a hash of seed and path ranks first.
class Taker {
 public:
  Taker(Work& work, std::uint64_t n, Verdict verdict, const SelectOptions& options)
      : work_(&work), n_(n), verdict_(verdict), options_(&options) {}

  void show(std::size_t i) {
    if (options_->in_order) {
      if (seen_++ >= n_) leave_out(i);
      return;
    }
    const std::string path = work_->listing.entries.path_of(i);
    kept_.emplace(XXH3_64bits_withSeed(path.data(), path.size(), options_->seed), i);
    if (kept_.size() <= n_) return;
    leave_out(kept_.top().second);
    kept_.pop();
  }

 private:
  void leave_out(std::size_t i) { work_->verdicts[i] = verdict_; }

  Work* work_;
  std::uint64_t n_, seen_ = 0;
  Verdict verdict_;
  const SelectOptions* options_;
  std::priority_queue<std::pair<std::uint64_t, std::size_t>> kept_;  ///< the last of them on top
};

void apply_limits(Work& work, std::size_t classes, const SelectOptions& options) {
  if (options.samples_per_class > 0) {
    std::vector<Taker> of_class(classes,
                                Taker(work, options.samples_per_class, Verdict::kClass, options));
    for (std::size_t i = 0; i < work.size(); ++i) {
      if (work.kept(i))
        of_class.at(static_cast<std::size_t>(work.listing.entries.label_of(i))).show(i);
    }
  }
  if (options.limit > 0) {
    Taker all(work, options.limit, Verdict::kLimit, options);
    for (std::size_t i = 0; i < work.size(); ++i)
      if (work.kept(i)) all.show(i);
  }
}

/// The split, with the samples that were left out turned into skips.
SplitListing finish(Work work) {
  if (std::ranges::all_of(work.verdicts,
                          [](Verdict verdict) { return verdict == Verdict::kKept; })) {
    return std::move(work.listing);
  }
  EntryTable kept(work.listing.entries.memory());
  for (std::size_t i = 0; i < work.size(); ++i) {
    if (work.kept(i)) {
      kept.add_from(work.listing.entries, i);
    } else {
      work.listing.skips.push_back({printable(work.listing.entries.path_of(i)),
                                    kRules.at(static_cast<std::size_t>(work.verdicts[i]))});
    }
  }
  work.listing.entries = std::move(kept);
  return std::move(work.listing);
}

/// The classes (by label) and splits that have an image.
struct Present {
  explicit Present(const Listing& listing) : classes(listing.classes.size()) {
    for (const SplitListing& split : listing.splits) {
      for (std::size_t i = 0; i < split.entries.size(); ++i)
        classes.at(static_cast<std::size_t>(split.entries.label_of(i))) = true;
      if (split.entries.size() > 0) splits.insert(split.split);
    }
  }
  std::vector<bool> classes;
  std::set<std::string> splits;
};

/// Notes the classes and splits that the selection left empty, which is easily overlooked.
std::vector<std::string> notes_of(const Present& before, const Listing& listing,
                                  const SelectOptions& options) {
  const Present after(listing);
  std::vector<std::string> classes, splits, notes;
  for (std::size_t label = 0; label < before.classes.size(); ++label) {
    if (before.classes[label] && !after.classes[label]) classes.push_back(listing.classes[label]);
  }
  for (const SplitListing& split : listing.splits) {
    const bool was_there = !options.split.empty() || before.splits.contains(split.split);
    if (was_there && !split.split.empty() && !after.splits.contains(split.split))
      splits.push_back(split.split);
  }
  const auto note = [&](const char* one, const char* several,
                        const std::vector<std::string>& names) {
    if (names.empty()) return;
    notes.push_back(std::string("the selection leaves no image in the ") +
                    (names.size() == 1 ? one : several) + " " + naming::quoted(names));
  };
  note("split", "splits", splits);
  note("class", "classes", classes);
  return notes;
}

void refuse_second_split(const Listing& listing) {
  if (listing.splits.size() == 1 && listing.splits.front().split.empty()) return;
  throw Error(
      ErrorKind::kUsage, "the source already has splits", {},
      "leave out `split=`, or give one of its splits as the source; where `labels=` makes the "
      "splits, `split_column=none` leaves them out");
}

}  // namespace

std::vector<unsigned> SelectOptions::parse_split(const std::string& text) {
  std::vector<unsigned> weights;
  for (const std::string_view part : split_text(text, ':'))
    weights.push_back(parse_number<unsigned>(part).value_or(0));
  const auto is_weight = [](unsigned weight) { return weight > 0 && weight <= 1'000'000; };
  if ((weights.size() == 2 || weights.size() == 3) && std::ranges::all_of(weights, is_weight))
    return weights;
  throw Error(ErrorKind::kUsage, "'" + text + "' is not a valid split", {},
              "give weights such as 90:10 (train, val) or 80:10:10 (train, val, test)");
}

void SelectOptions::validate() const {
  if (jobs < 0) throw Error(ErrorKind::kUsage, "jobs must not be negative");
}

bool SelectOptions::empty() const {
  return include.empty() && exclude.empty() && duplicates == Duplicates::kKeep && split.empty() &&
         limit == 0 && samples_per_class == 0;
}

Selection select(const Source& source, Listing& listing, const SelectOptions& options,
                 Progress& progress) {
  Selection selection;
  if (options.empty()) return selection;
  if (!options.split.empty()) refuse_second_split(listing);
  const Present before(listing);
  std::vector<Work> works;
  for (SplitListing& split : listing.splits) {
    apply_globs(split, options);
    works.emplace_back(std::move(split));
  }
  for (Work& work : works) apply_globs(work, options);
  const bool duplicates = options.duplicates != SelectOptions::Duplicates::kKeep;
  if (duplicates || !options.split.empty()) {
    const EntryMemory* memory =
        works.empty() ? nullptr : works.front().listing.entries.memory().get();
    Contents contents(source, options.jobs, {duplicates, !options.split.empty()}, memory, progress);
    for (const Work& work : works) {
      contents.add(work.listing, [&](std::size_t i) { return work.kept(i); });
    }
    contents.hash_all();
    if (duplicates) {
      selection.duplicates =
          find_duplicates(works, contents, options.duplicates == SelectOptions::Duplicates::kDrop);
    }
    if (!options.split.empty()) {
      Work whole = std::move(works.front());
      works = split_by_content(std::move(whole), contents, options.split);
    }
  }
  listing.splits.clear();
  for (Work& work : works) {
    apply_limits(work, listing.classes.size(), options);
    listing.splits.push_back(finish(std::move(work)));
  }
  selection.notes = notes_of(before, listing, options);
  return selection;
}

}  // namespace packhorse
