// LabelMe's JSON files (https://github.com/wkentaro/labelme), as X-AnyLabeling writes them, too.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "annotations/exports/export_notation.h"
#include "annotations/json_values.h"
#include "base/json_slices.h"
#include "base/printable.h"
#include "base/text.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

/// The class of regions whose objects nobody has annotated.
constexpr std::string_view kIgnoredLabelme = "__ignore__";

/// The object that the file is.
std::string_view labelme_object(std::string_view text) {
  check_json(text);
  text = trimmed(text);
  if (!text.starts_with('{')) throw Error(ErrorKind::kUnsupported, "it is not a JSON object");
  if (json_member(text, "shapes").empty())
    throw Error(ErrorKind::kUnsupported, "it has no \"shapes\"");
  return text;
}

/// The image beside the file, or where its path leads from there.
std::string labelme_image(std::string_view json, const std::string& file) {
  std::string path = text_of(json, "imagePath");
  std::ranges::replace(path, '\\', '/');
  const std::filesystem::path given(path);
  const bool whole = given.is_absolute() || path.find(":/") != std::string::npos;
  const std::filesystem::path below = whole ? given.filename() : given;
  return (std::filesystem::path(naming::directory_of(file)) / below)
      .lexically_normal()
      .generic_string();
}

/// A rectangle becomes its four corners, as a group of shapes has polygons alone.
std::vector<Point> labelme_outline(std::string_view shape, bool& rectangle) {
  const std::string kind =
      find_value(shape, "shape_type").empty() ? "polygon" : text_of(shape, "shape_type");
  rectangle = kind == "rectangle";
  if (kind != "polygon" && !rectangle)
    throw Error(ErrorKind::kCorrupt, "a shape of the type '" + printable(kind) +
                                         "' is neither a polygon nor a rectangle");
  std::vector<Point> points = points_of(value_of(shape, "points"));
  if (!rectangle || points.size() == 4) return points;
  if (points.size() != 2)
    throw Error(ErrorKind::kCorrupt, fmt::format("a rectangle has {} points", points.size()));
  const auto [left, right] = std::minmax(points[0].x, points[1].x);
  const auto [top, bottom] = std::minmax(points[0].y, points[1].y);
  return {{left, top}, {right, top}, {right, bottom}, {left, bottom}};
}

std::uint8_t labelme_flags(std::string_view shape, ExactJson& attributes) {
  std::uint8_t flags = 0;
  if (find_value(shape, "difficult") == "true") flags |= kDifficult;
  const std::string_view given = find_value(shape, "flags");
  if (!given.starts_with('{') || parse_json(given).empty()) return flags;
  for (const auto& [name, flag] :
       {std::pair("difficult", kDifficult), std::pair("truncated", kTruncated),
        std::pair("occluded", kOccluded)})
    if (json_member(given, name) == "true") flags |= flag;
  attributes["flags"] = parse_json(given);
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
  const std::string_view json = labelme_object(file.text);
  ExportedImages::Image& image = out.image(labelme_image(json, file.name));
  const std::string_view width = find_value(json, "imageWidth");
  const std::string_view height = find_value(json, "imageHeight");
  if (!width.empty() && !height.empty())
    image.set_size(whole_of(width, "imageWidth"), whole_of(height, "imageHeight"));
  std::vector<LabelmeObject> objects;
  std::map<std::pair<std::string, std::string_view>, std::size_t> groups;
  std::size_t number = 0;
  for (const std::string_view shape : list_of(json_member(json, "shapes"), "shapes")) {
    const std::string name = fmt::format("shape {}", ++number);
    try {
      LabelmeObject found{name, text_of(shape, "label"), {}};
      found.outlines.push_back(labelme_outline(shape, found.rectangles));
      found.flags = labelme_flags(shape, found.attributes);
      if (found.label == kIgnoredLabelme) found.flags |= kCrowd;
      const std::string_view group = find_value(shape, "group_id");
      if (!group.empty()) {
        found.attributes["group_id"] = parse_json(group);
        const auto [at, added] = groups.try_emplace({found.label, group}, objects.size());
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
