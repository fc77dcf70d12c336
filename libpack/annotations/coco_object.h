#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "annotations/object_builder.h"

namespace packhorse {

/// Members for flags that COCO's format does not have: 1 where the object has it.
inline constexpr std::pair<std::string_view, ObjectFlag> kOtherCocoFlags[] = {
    {"difficult", kDifficult}, {"truncated", kTruncated}, {"occluded", kOccluded}};

/// What one of COCO's annotations says: its members as they are written, empty where it has none.
struct CocoAnnotation {
  std::string_view id, image_id, category_id, caption, bbox, segmentation, keypoints, area, iscrowd;
  std::uint8_t other_flags = 0;  ///< of kOtherCocoFlags; whatever else others call so says nothing

  /// Whether it has a caption, and nothing by which it is of an object.
  bool is_caption() const;
};

/// Reads valid JSON. Throws Error(kCorrupt) for no object.
CocoAnnotation read_coco_annotation(std::string_view json);

/// An object of COCO's instances or key points, without its label: "bbox" [x, y, width, height],
/// "area", "iscrowd", "segmentation" (polygons, or run lengths as a list or a text) and
/// "keypoints". Without a box it gets that of its mask. Throws Error(kCorrupt) for members of other
/// types, and for numbers that make no polygon, mask or key point.
AnnotatedObject coco_object(const CocoAnnotation& annotation);

/// The size of one of COCO's images; 0 x 0 where it says none. Throws Error(kCorrupt).
MaskSize coco_size(std::string_view image);

}  // namespace packhorse
