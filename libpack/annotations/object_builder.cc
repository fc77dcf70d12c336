#include "annotations/object_builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace packhorse {

namespace {

constexpr std::size_t kShownProblems = 3;
constexpr double kRounding = 1;  // pixels that a coordinate may be beyond the image

bool within(double value, double extent) {
  return std::isfinite(value) && value >= -kRounding && value <= extent + kRounding;
}

std::string why_no_box(const AnnotatedObject& object, const AnnotationFrame& frame) {
  const double corners[] = {object.left, object.top, object.right, object.bottom};
  if (!std::ranges::all_of(corners, [](double v) { return std::isfinite(v); }))
    return "its box has a number that is not finite";
  // The float that is kept must have an area, too.
  if (!(static_cast<float>(object.left) < static_cast<float>(object.right) &&
        static_cast<float>(object.top) < static_cast<float>(object.bottom)))
    return "its box has no area";
  if (!within(object.left, frame.width) || !within(object.right, frame.width) ||
      !within(object.top, frame.height) || !within(object.bottom, frame.height))
    return fmt::format("its box, {:g} {:g} to {:g} {:g}, is beyond the image of {} x {}",
                       object.left, object.top, object.right, object.bottom, frame.width,
                       frame.height);
  return {};
}

std::string why_no_polygons(const AnnotatedObject& object, const AnnotationFrame& frame) {
  for (const std::vector<Point>& polygon : object.polygons) {
    if (polygon.size() < 3) return fmt::format("a polygon of {} points", polygon.size());
    for (const Point& point : polygon) {
      if (!within(point.x, frame.width) || !within(point.y, frame.height))
        return "a polygon is beyond the image, or has a number that is not finite";
    }
  }
  return {};
}

std::string why_no_keypoints(const AnnotatedObject& object, const AnnotationFrame& frame) {
  if (object.keypoints.empty()) return {};
  if (object.keypoints.size() != frame.keypoints)
    return fmt::format("it has {} key points instead of {}", object.keypoints.size(),
                       frame.keypoints);
  for (const Keypoint& point : object.keypoints) {
    if (point.visibility != 0 && point.visibility != 1 && point.visibility != 2)
      return "a key point's visibility is none of 0, 1 and 2";
    if (point.visibility != 0 && !(within(point.x, frame.width) && within(point.y, frame.height)))
      return "a key point is beyond the image";
    if (!std::isfinite(point.x) || !std::isfinite(point.y))
      return "a key point has a number that is not finite";
  }
  return {};
}

std::string why_no_mask(const AnnotatedObject& object, const AnnotationFrame& frame) {
  if (!object.mask) return {};
  if (!object.polygons.empty()) return "it has both polygons and a mask";
  const MaskSize size = object.mask->size;
  if (size.width != frame.width || size.height != frame.height)
    return fmt::format("its mask is {} x {}, the image {} x {}", size.width, size.height,
                       frame.width, frame.height);
  return {};
}

/// Begins a column of offsets that has none for the objects before this one.
void begin_offsets(std::vector<std::uint32_t>& offsets, std::size_t before) {
  if (offsets.empty()) offsets.assign(before + 1, 0);
}

}  // namespace

void box_from_polygons(AnnotatedObject& object) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  object.left = object.top = kFar;
  object.right = object.bottom = -kFar;
  for (const std::vector<Point>& points : object.polygons) {
    for (const Point& point : points) {
      object.left = std::min(object.left, point.x);
      object.top = std::min(object.top, point.y);
      object.right = std::max(object.right, point.x);
      object.bottom = std::max(object.bottom, point.y);
    }
  }
}

std::string words_of(const std::vector<std::string>& problems) {
  const std::size_t shown = std::min(problems.size(), kShownProblems);
  std::string text = fmt::format(
      "{}",
      fmt::join(problems.begin(), problems.begin() + static_cast<std::ptrdiff_t>(shown), "; "));
  if (shown < problems.size()) text += fmt::format("; and {} more", problems.size() - shown);
  return text;
}

std::string ObjectBuilder::why_not(const AnnotatedObject& object) const {
  if (object.label < 0 || static_cast<std::uint64_t>(object.label) >= frame_.classes)
    return fmt::format("its class {} is none of the {}", object.label, frame_.classes);
  if (object.area && !(std::isfinite(*object.area) && *object.area >= 0))
    return "its area is not an area";
  for (const auto rule : {why_no_box, why_no_polygons, why_no_mask, why_no_keypoints}) {
    if (std::string why = rule(object, frame_); !why.empty()) return why;
  }
  return {};
}

void ObjectBuilder::problem(std::string_view name, std::string_view what) {
  problems_.push_back(fmt::format("{}: {}", name, what));
}

void ObjectBuilder::add(const AnnotatedObject& object, std::string_view name) {
  if (const std::string why = why_not(object); !why.empty()) return problem(name, why);
  const std::size_t before = objects_.size();
  objects_.boxes.push_back({static_cast<float>(object.left), static_cast<float>(object.top),
                            static_cast<float>(object.right), static_cast<float>(object.bottom)});
  objects_.labels.push_back(static_cast<std::int32_t>(object.label));
  objects_.flags.push_back(object.flags);
  areas_ = areas_ || object.area;
  const double box = (object.right - object.left) * (object.bottom - object.top);
  objects_.areas.push_back(static_cast<float>(object.area.value_or(box)));
  if (!object.polygons.empty()) begin_offsets(objects_.polygons, before);
  if (object.mask) begin_offsets(objects_.runs, before);
  add_mask(object);
  if (frame_.keypoints == 0) return;
  objects_.keypoints.insert(objects_.keypoints.end(), object.keypoints.begin(),
                            object.keypoints.end());
  objects_.keypoints.resize((before + 1) * frame_.keypoints);
}

void ObjectBuilder::add_mask(const AnnotatedObject& object) {
  if (!objects_.polygons.empty()) {
    if (objects_.points.empty()) objects_.points.push_back(0);
    for (const std::vector<Point>& polygon : object.polygons) {
      objects_.outlines.insert(objects_.outlines.end(), polygon.begin(), polygon.end());
      objects_.points.push_back(static_cast<std::uint32_t>(objects_.outlines.size()));
    }
    objects_.polygons.push_back(static_cast<std::uint32_t>(objects_.points.size() - 1));
  }
  if (!objects_.runs.empty()) {
    if (object.mask)
      objects_.counts.insert(objects_.counts.end(), object.mask->counts.begin(),
                             object.mask->counts.end());
    objects_.runs.push_back(static_cast<std::uint32_t>(objects_.counts.size()));
  }
}

Objects ObjectBuilder::take() {
  if (!areas_) objects_.areas.clear();
  if (!objects_.keypoints.empty())
    objects_.keypoints_each = {static_cast<std::uint32_t>(frame_.keypoints)};
  return std::move(objects_);
}

}  // namespace packhorse
