#pragma once

#include <string_view>

#include "annotations/object_builder.h"

namespace packhorse {

/// How many numbers a key point has in YOLO's labels: 2 (x, y) or 3 (x, y, visibility).
struct YoloKeypoints {
  std::size_t count = 0, numbers = 3;
};

/// Adds the objects of one of YOLO's label files (https://docs.ultralytics.com/datasets), a line
/// each, with coordinates relative to the width and height of `frame`:
///
///     CLASS X Y WIDTH HEIGHT                       a box, by its centre
///     CLASS X Y WIDTH HEIGHT X Y VISIBILITY ...    with key points, when there are `keypoints`
///     CLASS X Y X Y X Y ...                        a polygon; its box is the one around it
///
/// A key point without visibility is visible, unless it is 0, 0. Other lines are problems.
void add_yolo_objects(std::string_view text, const AnnotationFrame& frame, YoloKeypoints keypoints,
                      ObjectBuilder& builder);

}  // namespace packhorse
