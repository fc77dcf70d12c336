// VIA, the VGG Image Annotator (https://www.robots.ox.ac.uk/~vgg/software/via), version 1 and 2:
// its project, its annotations as JSON, and as CSV.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>

#include "annotations/exports/export_notation.h"
#include "annotations/json_values.h"
#include "base/json_slices.h"
#include "base/option.h"
#include "base/printable.h"
#include "base/stop.h"
#include "base/text.h"
#include "labels/row_reader.h"
#include "labels/text_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr int kMostAttributesTold = 8;

AnnotatedObject via_object(std::string_view shape) {
  const std::string kind = text_of(shape, "name");
  const auto number = [&](const char* name) { return number_of(value_of(shape, name), name); };
  AnnotatedObject object;
  if (kind == "rect") {
    object.left = number("x");
    object.top = number("y");
    object.right = object.left + number("width");
    object.bottom = object.top + number("height");
  } else if (kind == "polygon") {
    const std::vector<double> x = numbers_of(value_of(shape, "all_points_x"), "all_points_x");
    const std::vector<double> y = numbers_of(value_of(shape, "all_points_y"), "all_points_y");
    if (x.size() != y.size())
      throw Error(ErrorKind::kCorrupt, "its points have not as many x as y");
    std::vector<Point>& polygon = object.polygons.emplace_back();
    for (std::size_t i = 0; i < x.size(); ++i) polygon.push_back({x[i], y[i]});
    box_from_polygons(object);
  } else {
    throw Error(ErrorKind::kCorrupt,
                "a region of '" + printable(kind) + "' is neither a rectangle nor a polygon");
  }
  return object;
}

/// A region as it was read: its class is known once all are.
struct ViaRegion {
  ExportedImages::Image* image;
  std::string name;
  AnnotatedObject object;
  std::map<std::string, std::string> attributes;
};

/// The text of an attribute: of a list of choices, the one that is ticked.
std::string attribute_text(const ExactJson& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object()) return value.is_null() ? std::string() : value.dump();
  std::string ticked;
  for (const auto& [name, on] : value.items())
    if (on == true) ticked += (ticked.empty() ? "" : ", ") + name;
  return ticked;
}

class ViaReader {
 public:
  ViaReader(const ExportFile& file, ExportedImages& out) : file_(file), out_(out) {}

  void take_region(ExportedImages::Image& image, const std::string& name, std::string_view shape,
                   const ExactJson& attributes) {
    try {
      ViaRegion region{&image, name, via_object(shape), {}};
      if (!attributes.is_object())
        throw Error(ErrorKind::kCorrupt, "its attributes are not an object");
      for (const auto& [key, value] : attributes.items()) {
        std::string text = attribute_text(value);
        if (text.empty()) continue;
        names_.insert(key);
        region.attributes.emplace(key, std::move(text));
      }
      regions_.push_back(std::move(region));
    } catch (const Error& error) {
      image.problem(name, error.what());
    }
  }

  void finish() {
    const std::string attribute = class_attribute();
    for (const ViaRegion& region : regions_) {
      const auto found = region.attributes.find(attribute);
      if (attribute.empty() && file_.classes().size() == 1) {
        out_.add(*region.image, file_.classes().front(), region.object, region.name);
      } else if (found == region.attributes.end()) {
        region.image->problem(
            region.name, "it has no class: its attribute '" + printable(attribute) + "' is empty");
      } else {
        ExactJson others;
        for (const auto& [name, text] : region.attributes)
          if (name != attribute) others[name] = text;
        out_.add(*region.image, found->second, region.object, region.name, others);
      }
    }
  }

 private:
  std::string class_attribute() const {
    if (!file_.choice.empty()) return file_.choice;
    if (names_.size() == 1) return *names_.begin();
    if (names_.empty()) {
      if (regions_.empty() || file_.classes().size() == 1) return {};
      throw Error(ErrorKind::kUsage, "no region has an attribute that would name its class",
                  file_.path, "name the one class: " + opt("target_classes", "FILE"));
    }
    std::string options;
    for (const std::string& name : names_ | std::views::take(kMostAttributesTold))
      options += (options.empty() ? "" : ", or ") + file_.options.with_choice(name);
    throw Error(ErrorKind::kUsage, "several attributes of the regions may be their class",
                file_.path, "say which is: " + options);
  }

  const ExportFile& file_;
  ExportedImages& out_;
  std::vector<ViaRegion> regions_;
  std::set<std::string> names_;  ///< of attributes
};

void read_via_image(std::string_view entry, ExportedImages& out, ViaReader& reader) {
  const std::size_t before = out.images().size();
  const std::string name = text_of(entry, "filename");
  ExportedImages::Image& image = out.image(name);
  if (out.images().size() == before) image.problem("its annotations", "they are there twice");
  const std::string_view regions = find_value(entry, "regions");
  std::size_t number = 0;
  const auto take = [&](std::string_view region) {
    const std::string called = fmt::format("region {}", ++number);
    const std::string_view shape = json_member(region, "shape_attributes");
    if (shape.empty()) return image.problem(called, "it has no shape");
    const std::string_view attributes = find_value(region, "region_attributes");
    reader.take_region(image, called, shape,
                       attributes.empty() ? ExactJson::object() : parse_json(attributes));
  };
  if (regions.starts_with('[')) {
    for_each_element(regions, take);
  } else if (regions.starts_with('{')) {  // the first version numbered them as members
    for_each_member(regions, [&](std::string_view, std::string_view region) {
      take(region);
      return true;
    });
  } else if (!regions.empty()) {
    image.problem("its annotations", "its regions are not a list");
  }
}

void read_via_json(const ExportFile& file, ExportedImages& out, ViaReader& reader) {
  check_json(file.text);
  std::string_view images = without_byte_order_mark(file.text);
  const std::size_t begin = images.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || images[begin] != '{')
    throw Error(ErrorKind::kUnsupported, "it is not a JSON object");
  std::string_view found;
  bool third = false;
  for_each_member(images, [&](std::string_view name, std::string_view value) {
    if (name == "\"_via_img_metadata\"") found = value;
    third = third || name == "\"attribute\"";
    return true;
  });
  if (third && found.empty())
    throw Error(ErrorKind::kUnsupported, "projects of VIA 3 are not read: export them as COCO");
  if (!found.empty()) images = found;
  if (!images.substr(images.find_first_not_of(" \t\r\n")).starts_with('{'))
    throw Error(ErrorKind::kCorrupt, "its images are not a JSON object");
  for_each_member(images, [&](std::string_view, std::string_view value) {
    obey_stop();
    read_via_image(value, out, reader);
    return true;
  });
}

std::string_view checked_cell(const std::string& cell) {
  if (cell.empty()) return "{}";
  check_json(cell);
  return trimmed(cell);
}

void read_via_csv(const ExportFile& file, ExportedImages& out, ViaReader& reader) {
  const UniqueFd fd = open_text(file.path);
  RowReader rows(fd.get(), file.path, kCommas);
  Row row;
  std::map<std::string, std::size_t> columns;
  if (rows.next(row))
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      std::string& name = row.cells[i];
      columns.emplace(name.starts_with('#') ? name.substr(1) : name, i);
    }
  const std::size_t width = row.cells.size();
  std::size_t at[3];
  for (std::size_t i = 0;
       const char* name : {"filename", "region_shape_attributes", "region_attributes"}) {
    const auto found = columns.find(name);
    if (found == columns.end())
      throw Error(ErrorKind::kUnsupported, fmt::format("it has no column {}", name));
    at[i++] = found->second;
  }
  while (rows.next(row)) {
    if (row.cells.size() != width)
      throw Error(ErrorKind::kCorrupt, fmt::format("line {} has {} cells, the first line {}",
                                                   row.line, row.cells.size(), width));
    ExportedImages::Image& image = out.image(row.cells[at[0]]);
    const std::string called = fmt::format("line {}", row.line);
    try {
      const std::string_view shape = checked_cell(row.cells[at[1]]);
      if (parse_json(shape).empty()) continue;  // an image without regions
      reader.take_region(image, called, shape, parse_json(checked_cell(row.cells[at[2]])));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      image.problem(called, error.what());
    }
  }
}

}  // namespace

void read_via(const ExportFile& file, ExportedImages& out) {
  ViaReader reader(file, out);
  const std::string_view text = without_byte_order_mark(file.text);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string_view::npos && text[begin] == '{')
    read_via_json(file, out, reader);
  else
    read_via_csv(file, out, reader);
  reader.finish();
}

}  // namespace packhorse
