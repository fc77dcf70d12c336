#include "packhorse/analysis/object_stats.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <span>

#include "base/parallel.h"
#include "base/permutation.h"
#include "base/resources.h"
#include "base/stop.h"
#include "packhorse/base/error.h"
#include "packhorse/targets/run_lengths.h"

namespace packhorse {

namespace {

constexpr double kSmallBelow = 32 * 32, kMediumBelow = 96 * 96;  // COCO's
constexpr std::size_t kImagesAtOnce = 64;

double area_of_object(const Objects& objects, std::size_t i) {
  if (!objects.areas.empty()) return objects.areas[i];
  const Box& box = objects.boxes[i];
  return (double{box.right} - box.left) * (double{box.bottom} - box.top);
}

/// Whether object i has any of what these offsets point to.
bool has_any(const std::vector<std::uint32_t>& offsets, std::size_t i) {
  return !offsets.empty() && offsets[i] != offsets[i + 1];
}

bool has_keypoint(const Objects& objects, std::size_t i) {
  if (objects.keypoints.empty()) return false;
  const auto each = static_cast<std::ptrdiff_t>(objects.keypoints_each.front());
  const auto first = objects.keypoints.begin() + static_cast<std::ptrdiff_t>(i) * each;
  return std::any_of(first, first + each, [](const Keypoint& p) { return p.visibility > 0; });
}

/// Throws Error(kCorrupt) for labels without a class and for masks of another image.
void check_belonging(const Objects& objects, std::size_t classes, const ImageInfo& image) {
  for (const std::int32_t label : objects.labels) {
    if (static_cast<std::size_t>(label) >= classes)
      throw Error(ErrorKind::kCorrupt, "damaged objects: a label has no class");
  }
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (!has_any(objects.runs, i)) continue;
    const auto counts =
        std::span(objects.counts).subspan(objects.runs[i], objects.runs[i + 1] - objects.runs[i]);
    check_run_lengths(counts, {image.height, image.width});
  }
}

/// The numbers of the samples to look at, in stored order.
std::vector<std::size_t> looked_at(std::size_t samples, const ObjectStatsOptions& options) {
  const bool all = options.images == 0 || options.images >= samples;
  std::vector<std::size_t> numbers(all ? samples : options.images);
  if (all) {
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    return numbers;
  }
  const Permutation order(samples, options.seed);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = order(i);
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace

std::optional<ObjectsTarget> objects_target(const PackedDataset& dataset) {
  for (const TargetRecord& record : dataset.manifest().targets) {
    const auto& fields = dataset.fields();
    const auto found = std::ranges::find(fields, record.name);
    if (record.kind == "objects" && found != fields.end())
      return ObjectsTarget{record, static_cast<std::size_t>(found - fields.begin())};
  }
  return std::nullopt;
}

Objects read_objects(const PackedDataset& dataset, const ObjectsTarget& target, std::size_t sample,
                     std::vector<std::byte>& bytes) {
  if (!dataset.read_field(sample, target.field, bytes)) return {};
  try {
    Objects objects = decode_objects(bytes);
    check_belonging(objects, target.record.classes.size(), dataset.image(sample));
    return objects;
  } catch (const Error& error) {
    const PackedDataset::Place at = dataset.place(sample);
    throw Error(error.kind(), error.what(), dataset.data_path(at.shard),
                "run `inspect(verify=full)` on the dataset", dataset.name_at(at));
  }
}

void ObjectStats::add(const Objects& one_image) {
  ++images;
  objects += one_image.size();
  per_image.add(one_image.size());
  if (one_image.size() == 0) ++empty;
  for (std::size_t i = 0; i < one_image.size(); ++i) {
    ++class_objects[static_cast<std::size_t>(one_image.labels[i])];
    const double area = std::max(0.0, area_of_object(one_image, i));
    ++(area < kSmallBelow ? small : area < kMediumBelow ? medium : large);
    sides.add(static_cast<std::uint64_t>(std::sqrt(std::min(area, 1e15))));
    with_polygons += has_any(one_image.polygons, i) ? 1u : 0u;
    with_runs += has_any(one_image.runs, i) ? 1u : 0u;
    with_keypoints += has_keypoint(one_image, i) ? 1u : 0u;
    const std::uint8_t flags = one_image.flags[i];
    crowds += (flags & kCrowd) != 0 ? 1u : 0u;
    difficult += (flags & kDifficult) != 0 ? 1u : 0u;
    truncated += (flags & kTruncated) != 0 ? 1u : 0u;
    occluded += (flags & kOccluded) != 0 ? 1u : 0u;
  }
}

void ObjectStats::add(const ObjectStats& others) {
  per_image.add(others.per_image);
  sides.add(others.sides);
  for (std::size_t label = 0; label < class_objects.size(); ++label)
    class_objects[label] += others.class_objects[label];
  for (const auto count :
       {&ObjectStats::images, &ObjectStats::damaged, &ObjectStats::objects, &ObjectStats::empty,
        &ObjectStats::small, &ObjectStats::medium, &ObjectStats::large, &ObjectStats::with_polygons,
        &ObjectStats::with_runs, &ObjectStats::with_keypoints, &ObjectStats::crowds,
        &ObjectStats::difficult, &ObjectStats::truncated, &ObjectStats::occluded})
    this->*count += others.*count;
}

std::optional<ObjectStats> count_objects(const PackedDataset& dataset,
                                         const ObjectStatsOptions& options,
                                         const std::stop_token& stop) {
  const StopScope scope(stop);
  const std::optional<ObjectsTarget> target = objects_target(dataset);
  if (!target) return std::nullopt;
  ObjectStats none;
  none.target = *target;
  none.class_objects.resize(target->record.classes.size());
  ObjectStats total = none;
  std::mutex mutex;
  const std::vector<std::size_t> samples = looked_at(dataset.size(), options);
  run_batches(options.jobs > 0 ? options.jobs : available_cpus(), samples.size(), kImagesAtOnce,
              [&](std::size_t begin, std::size_t end) {
                ObjectStats some = none;
                std::vector<std::byte> bytes;
                for (std::size_t i = begin; i < end; ++i) {
                  try {
                    some.add(read_objects(dataset, *target, samples[i], bytes));
                  } catch (const Error& error) {
                    if (error.kind() != ErrorKind::kCorrupt) throw;
                    ++some.damaged;
                  }
                }
                const std::scoped_lock lock(mutex);
                total.add(some);
              });
  return total;
}

}  // namespace packhorse
