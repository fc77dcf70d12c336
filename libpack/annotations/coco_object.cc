#include "annotations/coco_object.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "annotations/json_values.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

[[noreturn]] void no_object(const char* what) { throw Error(ErrorKind::kCorrupt, what); }

std::vector<Point> polygon(const ExactJson& list) {
  const std::vector<double> values = numbers_of(list, "polygon");
  if (values.size() % 2 != 0) no_object("a polygon has an odd number of coordinates");
  std::vector<Point> points;
  for (std::size_t i = 0; i < values.size(); i += 2) points.push_back({values[i], values[i + 1]});
  return points;
}

AnnotatedMask run_lengths(const ExactJson& mask) {
  const ExactJson& counts = value_of(mask, "counts");
  RunLengths runs = counts.is_string() ? parse_run_lengths(counts.get_ref<const std::string&>())
                                       : wholes_of(counts, "mask's counts");
  const std::vector<std::uint32_t> size = wholes_of(value_of(mask, "size"), "mask's size");
  if (size.size() != 2) no_object("its mask's size is not [height, width]");
  const MaskSize mask_size = {size[0], size[1]};
  check_run_lengths(runs, mask_size);
  return {std::move(runs), mask_size};
}

/// A mask, a list with one mask, a list of polygons, or the numbers of one polygon alone. Polygons
/// of no points say nothing.
void take_segmentation(const ExactJson& segmentation, AnnotatedObject& object) {
  if (segmentation.is_object()) {
    object.mask = run_lengths(segmentation);
    return;
  }
  const ExactJson::array_t& list = list_of(segmentation, "segmentation");
  if (list.empty()) return;
  if (list.front().is_object()) {
    if (list.size() > 1) no_object("its segmentation has several masks");
    object.mask = run_lengths(list.front());
  } else if (list.front().is_number()) {
    object.polygons.push_back(polygon(segmentation));
  } else {
    for (const ExactJson& one : list)
      if (!list_of(one, "polygon").empty()) object.polygons.push_back(polygon(one));
  }
}

void take_keypoints(const ExactJson& list, AnnotatedObject& object) {
  const std::vector<double> values = numbers_of(list, "list of key points");
  if (values.size() % 3 != 0) no_object("its key points are not x, y and visibility each");
  for (std::size_t i = 0; i < values.size(); i += 3)
    object.keypoints.push_back({static_cast<float>(values[i]), static_cast<float>(values[i + 1]),
                                static_cast<float>(values[i + 2])});
}

/// Four numbers, which may be a list in a list of their own.
void take_box(const ExactJson& box, AnnotatedObject& object) {
  const ExactJson::array_t& list = list_of(box, "box");
  const bool nested = list.size() == 1 && list.front().is_array();
  const std::vector<double> values = numbers_of(nested ? list.front() : box, "box");
  if (values.size() != 4) no_object("its box is not x, y, width and height");
  object.left = values[0];
  object.top = values[1];
  object.right = values[0] + values[2];
  object.bottom = values[1] + values[3];
}

bool true_or_false(const ExactJson& flag) {
  return flag.is_boolean() ? flag.get<bool>() : whole_of(flag, "iscrowd") != 0;
}

/// Flags that COCO does not have, as CocoWriter writes them. Whatever else others may call so
/// says nothing.
void take_other_flags(const ExactJson& annotation, AnnotatedObject& object) {
  for (const auto& [name, flag] : kOtherCocoFlags) {
    const ExactJson* const value = find_value(annotation, name);
    if (value != nullptr && (*value == true || *value == 1)) object.flags |= flag;
  }
}

}  // namespace

AnnotatedObject coco_object(const ExactJson& annotation) {
  AnnotatedObject object;
  take_other_flags(annotation, object);
  if (const ExactJson* crowd = find_value(annotation, "iscrowd"); crowd && true_or_false(*crowd))
    object.flags |= kCrowd;
  if (const ExactJson* area = find_value(annotation, "area"))
    object.area = number_of(*area, "area");
  if (const ExactJson* mask = find_value(annotation, "segmentation"))
    take_segmentation(*mask, object);
  if (const ExactJson* points = find_value(annotation, "keypoints"))
    take_keypoints(*points, object);
  if (const ExactJson* box = find_value(annotation, "bbox")) {
    take_box(*box, object);
  } else if (!object.polygons.empty()) {
    box_from_polygons(object);
  } else {
    no_object("it has no box");
  }
  return object;
}

MaskSize coco_size(const ExactJson& image) {
  const ExactJson* const width = find_value(image, "width");
  const ExactJson* const height = find_value(image, "height");
  if ((width == nullptr) != (height == nullptr))
    throw Error(ErrorKind::kCorrupt,
                width == nullptr ? "it has a height and no width" : "it has a width and no height");
  if (width == nullptr) return {};
  return {whole_of(*height, "height"), whole_of(*width, "width")};
}

std::string coco_record(const CocoFile& file, const CocoFile::Image& image) {
  return fmt::format(R"({{"image":{},"annotations":[{}]}})", image.json,
                     fmt::join(file.annotations_of(image), ","));
}

MaskSize add_record_objects(std::string_view record, const CocoFile& file, ObjectBuilder& builder) {
  try {
    const ExactJson json = parse_json(record);
    const MaskSize size = coco_size(value_of(json, "image"));
    for (const ExactJson& annotation : list_of(value_of(json, "annotations"), "list"))
      file.add_object(annotation, builder);
    return size;
  } catch (const Error& error) {
    throw Error(ErrorKind::kCorrupt, std::string("its annotations: ") + error.what());
  }
}

}  // namespace packhorse
