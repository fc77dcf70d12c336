#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "annotations/coco_file.h"
#include "annotations/object_builder.h"
#include "base/json.h"

namespace packhorse {

/// Members for flags that COCO's format does not have: 1 where the object has it.
inline constexpr std::pair<const char*, ObjectFlag> kOtherCocoFlags[] = {
    {"difficult", kDifficult}, {"truncated", kTruncated}, {"occluded", kOccluded}};

/// An object of COCO's instances or key points, without its label: "bbox" [x, y, width, height],
/// "area", "iscrowd", "segmentation" (polygons, or run lengths as a list or a text) and
/// "keypoints". Without a box it gets that of its mask. Throws Error(kCorrupt) for members of other
/// types, and for numbers that make no polygon, mask or key point.
AnnotatedObject coco_object(const ExactJson& annotation);

/// The size of one of COCO's images; 0 x 0 where it says none. Throws Error(kCorrupt).
MaskSize coco_size(const ExactJson& image);

/// What one of COCO's files says of an image, as a JSON object of its own, its parts as written
/// there: {"image": {...}, "annotations": [{...}, ...]}.
std::string coco_record(const CocoFile& file, const CocoFile::Image& image);

/// Adds the objects of such a record, whose categories are those of `file`. Returns the image's
/// size as it says, 0 x 0 where it says none. Throws Error(kCorrupt).
MaskSize add_record_objects(std::string_view record, const CocoFile& file, ObjectBuilder& builder);

}  // namespace packhorse
