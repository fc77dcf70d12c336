#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>

#include "annotations/sample_targets.h"
#include "base/parallel.h"
#include "base/printable.h"
#include "base/resources.h"
#include "base/stop.h"
#include "codecs/image_header.h"
#include "packhorse/base/error.h"
#include "packing/pack_job.h"
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
  seen.assign(seen.size(), false);
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
  std::ranges::stable_sort(labels,
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
  for (const Reject& reject : report.rejects) rejects.add(reject);
  for (const Skip& skip : report.skips) skips.add(skip);
  preview.rejects = rejects.most_frequent(preview.reject_reasons_left_out);
  std::uint64_t few = 0;  // rules are constants of this program
  preview.skips = skips.most_frequent(few);
  return preview;
}

namespace {

constexpr std::size_t kAtOnce = 256;  // images that a thread takes

/// Looks at some images of one split.
class TargetsLook {
 public:
  TargetsLook(const Source& source, const Listing& listing, const SplitListing& split,
              const ImageLimits& limits)
      : source_(source),
        listing_(listing),
        targets_(*listing.made_targets),
        split_(split),
        limits_(limits) {
    counts.objects.resize(targets_.target().classes.size());
  }

  void at(std::size_t entry) {
    try {
      if (const std::optional<Objects> objects = objects_of(entry)) count(*objects);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      const std::string& prefix = split_.prefix();
      problems.push_back({prefix.empty() ? printable(split_.entries.path_of(entry))
                                         : printable(prefix + '/' + split_.entries.path_of(entry)),
                          problem_of(error, Reason::kBadAnnotation)});
    }
  }

  PackPreview::Targets counts;
  std::vector<Reject> problems;

 private:
  /// Nothing for an image that cannot be packed anyway: that is told when it is.
  std::optional<Objects> objects_of(std::size_t entry) {
    ImageInfo image = targets_.told_image(split_, entry);
    std::optional<std::string_view> field;
    if (image.width == 0) {
      source_.read(split_, entry, input_);
      const ProbeResult probe = probe_image(input_.bytes, limits_);
      if (!probe.info) return std::nullopt;
      image = *probe.info;
      for (std::size_t i = 0; i < input_.fields; ++i) {
        const Input::Extra& extra = input_.extras[i];
        if (listing_.fields.at(extra.field) == targets_.options().field())
          field = as_text(extra.bytes);
      }
    }
    return targets_.objects(split_, entry, field, image);
  }

  void count(const Objects& objects) {
    ++counts.images;
    if (objects.size() == 0) ++counts.empty;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      ++counts.objects.at(static_cast<std::size_t>(objects.labels[i]));
      if ((objects.flags[i] & kCrowd) != 0) ++counts.crowds;
      if (!objects.polygons.empty() && objects.polygons[i] != objects.polygons[i + 1])
        ++counts.polygons;
      if (!objects.runs.empty() && objects.runs[i] != objects.runs[i + 1]) ++counts.masks;
      if (objects.keypoints_each.empty()) continue;
      const std::size_t each = objects.keypoints_each.front();
      const auto first = objects.keypoints.begin() + static_cast<std::ptrdiff_t>(i * each);
      if (std::any_of(first, first + static_cast<std::ptrdiff_t>(each),
                      [](const Keypoint& point) { return point.visibility != 0; }))
        ++counts.keypoints;
    }
  }

  const Source& source_;
  const Listing& listing_;
  const SampleTargets& targets_;
  const SplitListing& split_;
  const ImageLimits& limits_;
  Input input_;
};

void add(PackPreview::Targets& all, const PackPreview::Targets& part) {
  for (std::size_t i = 0; i < part.objects.size(); ++i) all.objects[i] += part.objects[i];
  all.images += part.images;
  all.empty += part.empty;
  all.polygons += part.polygons;
  all.masks += part.masks;
  all.keypoints += part.keypoints;
  all.crowds += part.crowds;
}

}  // namespace

PackPreview::Targets preview_targets(const Source& source, const Listing& listing,
                                     const std::vector<SplitWork>& splits, int jobs,
                                     const ImageLimits& limits) {
  PackPreview::Targets all;
  all.notation = listing.made_targets->options().name();
  all.classes = listing.made_targets->target().classes;
  all.objects.resize(all.classes.size());
  std::vector<Reject> problems;
  std::mutex mutex;
  for (const SplitWork& work : splits) {
    const std::size_t n = work.listing.entries.size();
    run_parallel(jobs > 0 ? jobs : available_cpus(), (n + kAtOnce - 1) / kAtOnce,
                 [&](std::size_t part) {
                   TargetsLook look(source, listing, work.listing, limits);
                   for (std::size_t i = part * kAtOnce; i < std::min(n, (part + 1) * kAtOnce); ++i)
                     look.at(i);
                   const std::scoped_lock lock(mutex);
                   add(all, look.counts);
                   problems.insert(problems.end(), look.problems.begin(), look.problems.end());
                 });
  }
  // The example of a reason must not depend on the threads.
  std::ranges::sort(problems, {}, &Reject::path);
  all.rejected = problems.size();
  Reasons reasons;
  for (const Reject& problem : problems) reasons.add(problem);
  all.problems = reasons.most_frequent(all.problem_reasons_left_out);
  return all;
}

}  // namespace packhorse
