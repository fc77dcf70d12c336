#include "packing/preview_targets.h"

#include <algorithm>
#include <mutex>

#include "annotations/sample_targets.h"
#include "base/parallel.h"
#include "packhorse/base/error.h"
#include "packhorse/base/printable.h"
#include "packhorse/base/resources.h"
#include "packhorse/codecs/image_header.h"
#include "packing/reasons.h"

namespace packhorse {

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
                          error.what()});
    }
  }

  PackPreview::Targets counts;
  std::vector<Reject> problems;

 private:
  /// Nothing for an image that cannot be packed anyway: that is told when it is.
  std::optional<Objects> objects_of(std::size_t entry) {
    const std::string record = targets_.record(split_, entry);
    ImageInfo image = targets_.told_image(split_, entry);
    const bool told = !record.empty() && image.width > 0;
    if (!told) {
      source_.read(split_, entry, input_);
      const ProbeResult probe = probe_image(input_.bytes, limits_);
      if (!probe.info) return std::nullopt;
      image = *probe.info;
    }
    if (!record.empty()) return targets_.objects(split_, record, image);
    for (std::size_t i = 0; i < input_.fields; ++i) {
      const Input::Extra& extra = input_.extras[i];
      if (listing_.fields.at(extra.field) == targets_.options().field())
        return targets_.objects(split_, as_text(extra.bytes), image);
    }
    return targets_.objects(split_, targets_.text_without_field(), image);
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
                                     const ImageLimits& limits, const std::stop_token& stop) {
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
                   if (stop.stop_requested())
                     throw Error(ErrorKind::kInterrupted, "stopped while looking at targets");
                   TargetsLook look(source, listing, work.listing, limits);
                   for (std::size_t i = part * kAtOnce; i < std::min(n, (part + 1) * kAtOnce); ++i)
                     look.at(i);
                   const std::scoped_lock lock(mutex);
                   add(all, look.counts);
                   problems.insert(problems.end(), look.problems.begin(), look.problems.end());
                 });
  }
  // The example of a reason must not depend on the threads.
  std::sort(problems.begin(), problems.end(),
            [](const Reject& a, const Reject& b) { return a.path < b.path; });
  all.rejected = problems.size();
  Reasons reasons;
  for (const Reject& problem : problems) reasons.add(problem.reason, problem.path);
  all.problems = reasons.most_frequent(all.problem_reasons_left_out);
  return all;
}

}  // namespace packhorse
