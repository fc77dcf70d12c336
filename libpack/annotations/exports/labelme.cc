// LabelMe's JSON files (https://github.com/wkentaro/labelme), as X-AnyLabeling writes them, too.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "annotations/exports/export_notation.h"
#include "annotations/exports/parsed_values.h"
#include "base/json_slices.h"
#include "base/printable.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

/// The class of regions whose objects nobody has annotated.
constexpr std::string_view kIgnoredLabelme = "__ignore__";

/// Members of the file, without the image that it may hold.
ExactJson labelme_members(std::string_view text) {
  check_json(text);
  if (!text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size())).starts_with('{'))
    throw Error(ErrorKind::kUnsupported, "it is not a JSON object");
  ExactJson members = ExactJson::object();
  bool shapes = false;
  for_each_member(text, [&](std::string_view quoted, std::string_view value) {
    const std::string name = json_characters(quoted);
    shapes = shapes || name == "shapes";
    if (name == "shapes" || name == "imagePath" || name == "imageWidth" || name == "imageHeight")
      members[name] = parse_json(value, {.bytes = std::size_t{1} << 28});
    return true;
  });
  if (!shapes) throw Error(ErrorKind::kUnsupported, "it has no \"shapes\"");
  return members;
}

/// The image beside the file, or where its path leads from there.
std::string labelme_image(const ExactJson& members, const std::string& file) {
  std::string path = text_of(members, "imagePath");
  std::ranges::replace(path, '\\', '/');
  const std::filesystem::path given(path);
  const bool whole = given.is_absolute() || path.find(":/") != std::string::npos;
  const std::filesystem::path below = whole ? given.filename() : given;
  return (std::filesystem::path(naming::directory_of(file)) / below)
      .lexically_normal()
      .generic_string();
}

std::vector<Point> labelme_points(const ExactJson& shape) {
  std::vector<Point> points;
  for (const ExactJson& point : list_of(value_of(shape, "points"), "points")) {
    const std::vector<double> numbers = numbers_of(point, "point");
    if (numbers.size() != 2) throw Error(ErrorKind::kCorrupt, "a point is not x and y");
    points.push_back({numbers[0], numbers[1]});
  }
  return points;
}

/// A rectangle becomes its four corners, as a group of shapes has polygons alone.
std::vector<Point> labelme_outline(const ExactJson& shape, bool& rectangle) {
  const ExactJson* const type = find_value(shape, "shape_type");
  const std::string kind = type == nullptr ? "polygon" : text_of(shape, "shape_type");
  rectangle = kind == "rectangle";
  if (kind != "polygon" && !rectangle)
    throw Error(ErrorKind::kCorrupt, "a shape of the type '" + printable(kind) +
                                         "' is neither a polygon nor a rectangle");
  std::vector<Point> points = labelme_points(shape);
  if (!rectangle || points.size() == 4) return points;
  if (points.size() != 2)
    throw Error(ErrorKind::kCorrupt, fmt::format("a rectangle has {} points", points.size()));
  const auto [left, right] = std::minmax(points[0].x, points[1].x);
  const auto [top, bottom] = std::minmax(points[0].y, points[1].y);
  return {{left, top}, {right, top}, {right, bottom}, {left, bottom}};
}

std::uint8_t labelme_flags(const ExactJson& shape, ExactJson& attributes) {
  std::uint8_t flags = 0;
  const ExactJson* const given = find_value(shape, "flags");
  const ExactJson* const difficult = find_value(shape, "difficult");
  if (difficult != nullptr && *difficult == true) flags |= kDifficult;
  if (given == nullptr || !given->is_object() || given->empty()) return flags;
  for (const auto& [name, flag] :
       {std::pair("difficult", kDifficult), std::pair("truncated", kTruncated),
        std::pair("occluded", kOccluded)})
    if (given->contains(name) && given->at(name) == true) flags |= flag;
  attributes["flags"] = *given;
  return flags;
}

/// Shapes with one label and one number of a group are one object.
struct LabelmeObject {
  std::string name, label;
  std::vector<std::vector<Point>> outlines;
  bool rectangles = true;
  std::uint8_t flags = 0;
  ExactJson attributes = {};
};

}  // namespace

void read_labelme(const ExportFile& file, ExportedImages& out) {
  const ExactJson members = labelme_members(file.text);
  ExportedImages::Image& image = out.image(labelme_image(members, file.name));
  const ExactJson* const width = find_value(members, "imageWidth");
  const ExactJson* const height = find_value(members, "imageHeight");
  if (width != nullptr && height != nullptr)
    image.set_size(whole_of(*width, "imageWidth"), whole_of(*height, "imageHeight"));
  std::vector<LabelmeObject> objects;
  std::map<std::pair<std::string, std::string>, std::size_t> groups;
  std::size_t number = 0;
  for (const ExactJson& shape : list_of(members["shapes"], "shapes")) {
    const std::string name = fmt::format("shape {}", ++number);
    try {
      LabelmeObject found{name, text_of(shape, "label"), {}};
      found.outlines.push_back(labelme_outline(shape, found.rectangles));
      found.flags = labelme_flags(shape, found.attributes);
      if (found.label == kIgnoredLabelme) found.flags |= kCrowd;
      const ExactJson* const group = find_value(shape, "group_id");
      if (group != nullptr) {
        found.attributes["group_id"] = *group;
        const auto [at, added] = groups.try_emplace({found.label, group->dump()}, objects.size());
        if (!added) {
          LabelmeObject& other = objects[at->second];
          other.outlines.push_back(std::move(found.outlines.front()));
          other.rectangles = false;
          other.flags |= found.flags;
          continue;
        }
      }
      objects.push_back(std::move(found));
    } catch (const Error& error) {
      image.problem(name, error.what());
    }
  }
  for (LabelmeObject& one : objects) {
    AnnotatedObject object;
    object.flags = one.flags;
    object.polygons = std::move(one.outlines);
    box_from_polygons(object);
    if (one.rectangles) object.polygons.clear();
    out.add(image, one.label, object, one.name, one.attributes);
  }
}

}  // namespace packhorse
