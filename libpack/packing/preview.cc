#include "packing/preview.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "packhorse/base/printable.h"
#include "packing/reasons.h"

namespace packhorse {

namespace {

constexpr std::size_t kSplits = 8, kAllClasses = 16, kAtEachEnd = 5;

PackPreview::Example example_of(const SplitListing& listing, std::size_t i,
                                const std::vector<std::string>& fields) {
  const std::string prefix = listing.prefix().empty() ? "" : printable(listing.prefix()) + "/";
  const EntryTable::Entry entry = listing.entries[i];
  PackPreview::Example example{prefix + printable(entry.path), entry.label};
  for (std::size_t f = 0; f < fields.size(); ++f)
    if ((entry.fields >> f & 1) != 0) example.fields.push_back(fields[f]);
  return example;
}

PackPreview::Split split_of(const SplitWork& work, const std::vector<std::string>& fields,
                            std::vector<bool>& seen) {
  const SplitListing& listing = work.listing;
  const EntryTable& entries = listing.entries;
  PackPreview::Split split{.split = listing.split,
                           .samples = entries.size(),
                           .bytes = 0,
                           .shards = work.plan.shards(),
                           .classes_without = seen.size(),
                           .examples = {}};
  std::fill(seen.begin(), seen.end(), false);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    split.bytes += entries.size_of(i);
    const auto label = static_cast<std::size_t>(entries.label_of(i));
    if (label >= seen.size() || seen[label]) continue;
    seen[label] = true;
    --split.classes_without;
  }
  if (entries.size() == 0) return split;
  std::vector<std::size_t> places = {0, entries.size() / 2, entries.size() - 1};
  places.erase(std::unique(places.begin(), places.end()), places.end());
  for (const std::size_t i : places)
    split.examples.push_back(example_of(listing, work.entry_of(i), fields));
  return split;
}

/// The labels that are shown, in the order in which they are.
std::vector<std::size_t> shown_labels(const std::vector<std::uint64_t>& samples) {
  std::vector<std::size_t> labels(samples.size());
  std::iota(labels.begin(), labels.end(), 0);
  if (labels.size() <= kAllClasses) return labels;
  std::stable_sort(labels.begin(), labels.end(),
                   [&](std::size_t a, std::size_t b) { return samples[a] > samples[b]; });
  labels.erase(labels.begin() + kAtEachEnd, labels.end() - kAtEachEnd);
  return labels;
}

void count_classes(const std::vector<SplitWork>& splits, PackPreview& preview,
                   std::size_t classes) {
  std::vector<std::uint64_t> samples(classes);
  for (const SplitWork& work : splits) {
    for (std::size_t i = 0; i < work.listing.entries.size(); ++i) {
      const auto label = static_cast<std::size_t>(work.listing.entries.label_of(i));
      if (label < classes) ++samples[label];
    }
  }
  std::map<std::size_t, std::size_t> places;  // label -> its place in preview.classes
  for (const std::size_t label : shown_labels(samples)) {
    places.emplace(label, preview.classes.size());
    preview.classes.push_back({static_cast<std::int64_t>(label), samples[label],
                               std::vector<std::uint64_t>(preview.splits.size())});
  }
  preview.classes_left_out = classes - preview.classes.size();
  for (std::size_t s = 0; s < preview.splits.size(); ++s) {
    const EntryTable& entries = splits[s].listing.entries;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto place = places.find(static_cast<std::size_t>(entries.label_of(i)));
      if (place != places.end()) ++preview.classes[place->second].by_split[s];
    }
  }
}

}  // namespace

PackPreview preview_of(const std::vector<SplitWork>& splits, const std::vector<std::string>& fields,
                       const PackReport& report) {
  PackPreview preview;
  std::vector<bool> seen(report.classes.size());
  for (const SplitWork& work : splits) {
    if (preview.splits.size() == kSplits) break;
    preview.splits.push_back(split_of(work, fields, seen));
  }
  preview.splits_left_out = splits.size() - preview.splits.size();
  count_classes(splits, preview, report.classes.size());
  Reasons rejects, skips;
  for (const Reject& reject : report.rejects) rejects.add(reject.reason, reject.path);
  for (const Skip& skip : report.skips) skips.add(skip.rule, skip.path);
  preview.rejects = rejects.most_frequent(preview.reject_reasons_left_out);
  std::uint64_t few = 0;  // rules are constants of this program
  preview.skips = skips.most_frequent(few);
  return preview;
}

}  // namespace packhorse
