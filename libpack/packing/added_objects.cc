#include "packing/added_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "annotations/object_builder.h"
#include "packhorse/base/error.h"
#include "packhorse/base/printable.h"
#include "packhorse/targets/target_options.h"

namespace packhorse {

namespace {

[[noreturn]] void refuse_objects(const std::string& what, const std::string& advice,
                                 std::string_view key) {
  throw Error(ErrorKind::kUsage, what, {}, advice, std::string(key));
}

void refuse_names(const std::vector<std::string>& names, const char* what) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (name.empty() || printable(name) != name)
      refuse_objects(fmt::format("'{}' cannot be the name of {}", printable(name), what),
                     "give names of printable characters", {});
    if (!seen.insert(name).second)
      refuse_objects(fmt::format("two of {} are called '{}'", what, name), "give each its own name",
                     {});
  }
}

/// Whether `offsets` divide `values` among `owners`, or there is nothing to divide.
bool divides(const std::vector<std::uint32_t>& offsets, std::size_t owners, std::size_t values) {
  if (offsets.empty()) return values == 0;
  return offsets.size() == owners + 1 && offsets.front() == 0 && offsets.back() == values &&
         std::is_sorted(offsets.begin(), offsets.end());
}

bool columns_fit(const Objects& o, std::size_t keypoints) {
  const std::size_t n = o.size(), polygons = o.points.empty() ? 0 : o.points.size() - 1;
  return o.labels.size() == n && o.flags.size() == n && (o.areas.empty() || o.areas.size() == n) &&
         divides(o.polygons, n, polygons) && divides(o.points, polygons, o.outlines.size()) &&
         divides(o.runs, n, o.counts.size()) &&
         (o.keypoints.empty() || o.keypoints.size() == n * keypoints);
}

template <class T>
std::span<const T> part_of(const std::vector<std::uint32_t>& offsets, const std::vector<T>& values,
                           std::size_t i) {
  if (offsets.empty()) return {};
  return std::span(values).subspan(offsets[i], offsets[i + 1] - offsets[i]);
}

/// Object i, as annotations have it. Throws Error(kCorrupt) for a mask that is none.
AnnotatedObject object_at(const Objects& all, std::size_t i, MaskSize masks,
                          std::size_t keypoints) {
  const Box& box = all.boxes[i];
  AnnotatedObject one{.left = box.left,
                      .top = box.top,
                      .right = box.right,
                      .bottom = box.bottom,
                      .label = all.labels[i],
                      .flags = all.flags[i]};
  if (!all.areas.empty()) one.area = all.areas[i];
  for (std::uint32_t p = all.polygons.empty() ? 0 : all.polygons[i];
       !all.polygons.empty() && p < all.polygons[i + 1]; ++p) {
    const auto corners = part_of(all.points, all.outlines, p);
    one.polygons.emplace_back(corners.begin(), corners.end());
  }
  if (const auto counts = part_of(all.runs, all.counts, i); !counts.empty()) {
    check_run_lengths(counts, masks);
    one.mask = {RunLengths(counts.begin(), counts.end()), masks};
  }
  if (!all.keypoints.empty()) {
    const auto first = all.keypoints.begin() + static_cast<std::ptrdiff_t>(i * keypoints);
    one.keypoints.assign(first, first + static_cast<std::ptrdiff_t>(keypoints));
  }
  return one;
}

}  // namespace

std::vector<TargetRecord> record_of(const ObjectNames& names) {
  if (names.classes.empty()) {
    if (!names.keypoints.empty())
      refuse_objects("key points are named, but no classes of objects", "name the classes, too",
                     {});
    return {};
  }
  refuse_names(names.classes, "the classes of objects");
  refuse_names(names.keypoints, "the key points");
  return {{std::string(kObjectsField),
           std::string(kObjectsTarget),
           {},
           names.classes,
           names.keypoints}};
}

std::vector<std::byte> encode_added(const NewSample& sample, const ImageInfo& image,
                                    const ObjectNames& names) {
  if (sample.objects == nullptr)
    refuse_objects("the sample does not say which objects are in its image",
                   "give it objects; none of them where there are none", sample.key);
  const Objects& given = *sample.objects;
  if (!columns_fit(given, names.keypoints.size()))
    refuse_objects("the columns of the objects do not fit each other", "give each object its own",
                   sample.key);
  ObjectBuilder builder({image.width, image.height, names.classes.size(), names.keypoints.size()});
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string name = fmt::format("object {}", i);
    try {
      builder.add(object_at(given, i, sample.masks, names.keypoints.size()), name);
    } catch (const Error& error) {
      builder.problem(name, error.what());
    }
  }
  if (!builder.problems().empty())
    refuse_objects("the objects cannot be right: " + words_of(builder.problems()),
                   "correct them, or leave them out", sample.key);
  return encode_objects(builder.take());
}

}  // namespace packhorse
