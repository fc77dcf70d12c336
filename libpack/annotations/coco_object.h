#pragma once

#include "annotations/object_builder.h"
#include "packhorse/base/json.h"

namespace packhorse {

/// An object of COCO's instances or key points, without its label: "bbox" [x, y, width, height],
/// "area", "iscrowd", "segmentation" (polygons, or run lengths as a list or a text) and
/// "keypoints". Without a box it gets that of its mask. Throws nlohmann's exceptions for members of
/// other types, Error(kCorrupt) for numbers that make no polygon, mask or key point.
AnnotatedObject coco_object(const ExactJson& annotation);

}  // namespace packhorse
