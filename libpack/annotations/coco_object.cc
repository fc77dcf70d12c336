#include "annotations/coco_object.h"

#include "annotations/json_values.h"
#include "base/json_slices.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

using View = std::string_view;

constexpr std::pair<View, View CocoAnnotation::*> kMembers[] = {
    {"id", &CocoAnnotation::id},
    {"image_id", &CocoAnnotation::image_id},
    {"category_id", &CocoAnnotation::category_id},
    {"caption", &CocoAnnotation::caption},
    {"bbox", &CocoAnnotation::bbox},
    {"segmentation", &CocoAnnotation::segmentation},
    {"keypoints", &CocoAnnotation::keypoints},
    {"area", &CocoAnnotation::area},
    {"iscrowd", &CocoAnnotation::iscrowd}};

[[noreturn]] void no_object(const char* what) { throw Error(ErrorKind::kCorrupt, what); }

bool says(View value) { return !value.empty() && value != "null"; }

std::vector<Point> polygon(View list) {
  const std::vector<double> values = numbers_of(list, "polygon");
  if (values.size() % 2 != 0) no_object("a polygon has an odd number of coordinates");
  std::vector<Point> points;
  points.reserve(values.size() / 2);
  for (std::size_t i = 0; i < values.size(); i += 2) points.push_back({values[i], values[i + 1]});
  return points;
}

AnnotatedMask run_lengths(View mask) {
  const View counts = value_of(mask, "counts");
  RunLengths runs = counts.starts_with('"') ? parse_run_lengths(json_characters(counts))
                                            : wholes_of(counts, "mask's counts");
  const std::vector<std::uint32_t> size = wholes_of(value_of(mask, "size"), "mask's size");
  if (size.size() != 2) no_object("its mask's size is not [height, width]");
  const MaskSize mask_size = {size[0], size[1]};
  check_run_lengths(runs, mask_size);
  return {std::move(runs), mask_size};
}

/// A mask, a list with one mask, a list of polygons, or the numbers of one polygon alone. Polygons
/// of no points say nothing.
void take_segmentation(View segmentation, AnnotatedObject& object) {
  if (segmentation.starts_with('{')) {
    object.mask = run_lengths(segmentation);
    return;
  }
  const std::vector<View> list = list_of(segmentation, "segmentation");
  if (list.empty()) return;
  if (list.front().starts_with('{')) {
    if (list.size() > 1) no_object("its segmentation has several masks");
    object.mask = run_lengths(list.front());
  } else if (is_number(list.front())) {
    object.polygons.push_back(polygon(segmentation));
  } else {
    for (const View one : list)
      if (std::vector<Point> points = polygon(one); !points.empty())
        object.polygons.push_back(std::move(points));
  }
}

void take_keypoints(View list, AnnotatedObject& object) {
  const std::vector<double> values = numbers_of(list, "list of key points");
  if (values.size() % 3 != 0) no_object("its key points are not x, y and visibility each");
  for (std::size_t i = 0; i < values.size(); i += 3)
    object.keypoints.push_back({static_cast<float>(values[i]), static_cast<float>(values[i + 1]),
                                static_cast<float>(values[i + 2])});
}

/// Four numbers, which may be a list in a list of their own.
void take_box(View box, AnnotatedObject& object) {
  const std::vector<View> list = list_of(box, "box");
  const bool nested = list.size() == 1 && list.front().starts_with('[');
  const std::vector<double> values = numbers_of(nested ? list.front() : box, "box");
  if (values.size() != 4) no_object("its box is not x, y, width and height");
  object.left = values[0];
  object.top = values[1];
  object.right = values[0] + values[2];
  object.bottom = values[1] + values[3];
}

bool true_or_false(View flag) {
  return flag == "true" || (flag != "false" && whole_of(flag, "iscrowd") != 0);
}

}  // namespace

bool CocoAnnotation::is_caption() const {
  return !caption.empty() && category_id.empty() && bbox.empty() && segmentation.empty() &&
         keypoints.empty();
}

CocoAnnotation read_coco_annotation(View json) {
  if (!json.starts_with('{')) no_object("it is not a JSON object");
  CocoAnnotation read;
  for_each_member(json, [&](View quoted, View value) {
    const std::string name = json_characters(quoted);
    for (const auto& [known, member] : kMembers)
      if (name == known) read.*member = value;
    for (const auto& [known, flag] : kOtherCocoFlags) {
      if (name != known) continue;
      const bool set = value == "true" || (is_number(value) && number_of(value, "flag") == 1);
      read.other_flags =
          static_cast<std::uint8_t>(set ? read.other_flags | flag : read.other_flags & ~flag);
    }
    return true;
  });
  return read;
}

AnnotatedObject coco_object(const CocoAnnotation& annotation) {
  AnnotatedObject object;
  object.flags = annotation.other_flags;
  if (says(annotation.iscrowd) && true_or_false(annotation.iscrowd)) object.flags |= kCrowd;
  if (says(annotation.area)) object.area = number_of(annotation.area, "area");
  if (says(annotation.segmentation)) take_segmentation(annotation.segmentation, object);
  if (says(annotation.keypoints)) take_keypoints(annotation.keypoints, object);
  if (says(annotation.bbox)) {
    take_box(annotation.bbox, object);
  } else if (!object.polygons.empty()) {
    box_from_polygons(object);
  } else {
    no_object("it has no box");
  }
  return object;
}

MaskSize coco_size(View image) {
  const View width = find_value(image, "width"), height = find_value(image, "height");
  if (width.empty() != height.empty())
    no_object(width.empty() ? "it has a height and no width" : "it has a width and no height");
  if (width.empty()) return {};
  return {whole_of(height, "height"), whole_of(width, "width")};
}

}  // namespace packhorse
