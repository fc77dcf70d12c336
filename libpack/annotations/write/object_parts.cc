#include "annotations/write/object_parts.h"

#include <algorithm>
#include <cmath>

#include "annotations/object_builder.h"

namespace packhorse {

ObjectParts::ObjectParts(const Objects& objects, std::size_t i)
    : box(objects.boxes[i]), label(objects.labels[i]), flags(objects.flags[i]), objects_(objects) {
  if (!objects.areas.empty()) area = std::span(objects.areas).subspan(i, 1);
  if (!objects.polygons.empty()) {
    first_polygon = objects.polygons[i];
    last_polygon = objects.polygons[i + 1];
  }
  if (!objects.runs.empty())
    counts =
        std::span(objects.counts).subspan(objects.runs[i], objects.runs[i + 1] - objects.runs[i]);
  if (!objects.keypoints_each.empty()) {
    const std::size_t each = objects.keypoints_each.front();
    keypoints = std::span(objects.keypoints).subspan(i * each, each);
  }
}

std::span<const Point> ObjectParts::polygon(std::size_t number) const {
  const std::size_t first = objects_.points[first_polygon + number];
  return std::span(objects_.outlines)
      .subspan(first, objects_.points[first_polygon + number + 1] - first);
}

bool is_box_of_polygons(const ObjectParts& object) {
  constexpr float kRounding = 0.01F;  // pixels: COCO's files have two digits
  AnnotatedObject around;
  for (std::size_t p = 0; p < object.polygons(); ++p) {
    const std::span<const Point> points = object.polygon(p);
    around.polygons.emplace_back(points.begin(), points.end());
  }
  box_from_polygons(around);
  const auto same = [](float a, double b) {
    return std::abs(a - static_cast<float>(b)) <= kRounding;
  };
  return same(object.box.left, around.left) && same(object.box.top, around.top) &&
         same(object.box.right, around.right) && same(object.box.bottom, around.bottom);
}

}  // namespace packhorse
