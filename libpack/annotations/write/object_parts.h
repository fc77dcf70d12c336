#pragma once

#include <span>

#include "packhorse/targets/objects.h"
#include "packhorse/targets/run_lengths.h"

namespace packhorse {

/// One of an image's objects. A view; `objects` are as decode_objects() gives them.
struct ObjectParts {
  ObjectParts(const Objects& objects, std::size_t i);

  Box box;
  std::int32_t label;
  std::uint8_t flags;
  std::span<const float> area;  ///< one number, or none
  std::size_t polygons() const { return last_polygon - first_polygon; }
  /// By its number among the object's own.
  std::span<const Point> polygon(std::size_t number) const;
  std::span<const std::uint32_t> counts;  ///< a mask's run lengths; empty: it has none
  std::span<const Keypoint> keypoints;

 private:
  const Objects& objects_;
  std::size_t first_polygon = 0, last_polygon = 0;
};

/// Whether the box is that around the polygons, but for rounding.
bool is_box_of_polygons(const ObjectParts& object);

}  // namespace packhorse
