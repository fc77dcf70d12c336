#include "annotations/coco_object.h"

#include <utility>

#include "packhorse/base/error.h"

namespace packhorse {

namespace {

[[noreturn]] void no_object(const char* what) { throw Error(ErrorKind::kCorrupt, what); }

/// A member that is there and not null, or null.
const ExactJson* find(const ExactJson& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::vector<double> numbers(const ExactJson& array) {
  return array.get_ref<const ExactJson::array_t&>().empty() ? std::vector<double>{}
                                                            : array.get<std::vector<double>>();
}

std::vector<Point> polygon(const ExactJson& array) {
  const std::vector<double> values = numbers(array);
  if (values.size() % 2 != 0) no_object("a polygon has an odd number of coordinates");
  std::vector<Point> points;
  for (std::size_t i = 0; i < values.size(); i += 2) points.push_back({values[i], values[i + 1]});
  return points;
}

AnnotatedMask run_lengths(const ExactJson& mask) {
  const ExactJson& counts = mask.at("counts");
  RunLengths runs = counts.is_string() ? parse_run_lengths(counts.get_ref<const std::string&>())
                                       : counts.get<RunLengths>();
  const auto size = mask.at("size").get<std::vector<std::uint32_t>>();
  if (size.size() != 2) no_object("its mask's size is not [height, width]");
  const MaskSize mask_size = {size[0], size[1]};
  check_run_lengths(runs, mask_size);
  return {std::move(runs), mask_size};
}

void take_segmentation(const ExactJson& segmentation, AnnotatedObject& object) {
  if (segmentation.is_object()) {
    object.mask = run_lengths(segmentation);
    return;
  }
  for (const ExactJson& one : segmentation.get_ref<const ExactJson::array_t&>())
    object.polygons.push_back(polygon(one));
}

void take_keypoints(const ExactJson& array, AnnotatedObject& object) {
  const std::vector<double> values = numbers(array);
  if (values.size() % 3 != 0) no_object("its key points are not x, y and visibility each");
  for (std::size_t i = 0; i < values.size(); i += 3)
    object.keypoints.push_back({static_cast<float>(values[i]), static_cast<float>(values[i + 1]),
                                static_cast<float>(values[i + 2])});
}

void take_box(const ExactJson& box, AnnotatedObject& object) {
  const std::vector<double> values = numbers(box);
  if (values.size() != 4) no_object("its box is not x, y, width and height");
  object.left = values[0];
  object.top = values[1];
  object.right = values[0] + values[2];
  object.bottom = values[1] + values[3];
}

bool true_or_false(const ExactJson& flag) {
  return flag.is_boolean() ? flag.get<bool>() : flag.get<std::uint8_t>() != 0;
}

/// Flags that COCO does not have, as CocoWriter writes them. Whatever else others may call so
/// says nothing.
void take_other_flags(const ExactJson& annotation, AnnotatedObject& object) {
  for (const auto& [name, flag] : kOtherCocoFlags) {
    const ExactJson* const value = find(annotation, name);
    if (value != nullptr && (*value == true || *value == 1)) object.flags |= flag;
  }
}

}  // namespace

AnnotatedObject coco_object(const ExactJson& annotation) {
  AnnotatedObject object;
  take_other_flags(annotation, object);
  if (const ExactJson* crowd = find(annotation, "iscrowd"); crowd && true_or_false(*crowd))
    object.flags |= kCrowd;
  if (const ExactJson* area = find(annotation, "area")) object.area = area->get<double>();
  if (const ExactJson* mask = find(annotation, "segmentation")) take_segmentation(*mask, object);
  if (const ExactJson* points = find(annotation, "keypoints")) take_keypoints(*points, object);
  if (const ExactJson* box = find(annotation, "bbox")) {
    take_box(*box, object);
  } else if (!object.polygons.empty()) {
    box_from_polygons(object);
  } else {
    no_object("it has no box");
  }
  return object;
}

}  // namespace packhorse
