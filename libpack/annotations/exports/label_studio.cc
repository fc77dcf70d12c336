// Label Studio's JSON export (https://labelstud.io/guide/export): coordinates are percents of the
// image, which each result gives the size of.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "annotations/exports/export_notation.h"
#include "annotations/json_values.h"
#include "base/json_slices.h"
#include "base/printable.h"
#include "base/stop.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

/// Bytes that a URL has as %41.
std::string without_escapes(std::string_view text) {
  const auto digit = [](char c) {
    const std::size_t at = std::string_view("0123456789abcdef")
                               .find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
    return at == std::string_view::npos ? -1 : static_cast<int>(at);
  };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    plain += escape ? static_cast<char>(16 * digit(text[i + 1]) + digit(text[i + 2])) : text[i];
    i += escape ? 2 : 0;
  }
  return plain;
}

/// The image's path, of the addresses by which Label Studio shows it: /data/upload/3/1a2b-x.jpg,
/// /data/local-files/?d=folder/x.jpg, s3://bucket/folder/x.jpg.
std::string path_of_address(std::string_view address) {
  constexpr std::string_view kLocal = "/data/local-files/?d=", kUpload = "/data/upload/";
  if (address.starts_with(kLocal)) return without_escapes(address.substr(kLocal.size()));
  if (address.starts_with(kUpload)) return without_escapes(naming::last_name(address));
  const std::size_t scheme = address.find("://");
  if (scheme == std::string_view::npos) return std::string(address);
  address.remove_prefix(scheme + 3);
  address.remove_prefix(std::min(address.find('/') + 1, address.size()));
  return without_escapes(address.substr(0, address.find_first_of("?#")));
}

/// Of the task's data, the one that is the path of an image.
std::string task_image(std::string_view task) {
  const std::string_view data = value_of(task, "data");
  if (!data.starts_with('{')) throw Error(ErrorKind::kCorrupt, "its data is not a JSON object");
  std::set<std::string> found;
  for_each_member(data, [&](std::string_view, std::string_view value) {
    if (!value.starts_with('"')) return true;
    std::string path = path_of_address(json_characters(value));
    if (naming::has_any_image_name(path)) found.insert(std::move(path));
    return true;
  });
  if (found.size() != 1)
    throw Error(ErrorKind::kCorrupt,
                fmt::format("its data names {} images", found.empty() ? "no" : "several"));
  return *found.begin();
}

std::uint32_t side_of(std::string_view result, const char* name) {
  return whole_of(value_of(result, name), name);
}

/// The one class of a region; nothing where it has none.
std::optional<std::string> region_class(std::string_view value) {
  for (const char* name : {"rectanglelabels", "polygonlabels", "labels"}) {
    const std::string_view labels = find_value(value, name);
    if (labels.empty()) continue;
    const std::vector<std::string_view> list = list_of(labels, name);
    if (list.size() != 1 || !list.front().starts_with('"'))
      throw Error(ErrorKind::kCorrupt, fmt::format("it has {} classes", list.size()));
    return json_characters(list.front());
  }
  return std::nullopt;
}

AnnotatedObject region_object(std::string_view value, double width, double height) {
  AnnotatedObject object;
  const auto number = [&](const char* name) { return number_of(value_of(value, name), name); };
  if (const std::string_view points = find_value(value, "points"); !points.empty()) {
    std::vector<Point>& polygon = object.polygons.emplace_back(points_of(points));
    for (Point& point : polygon) point = {point.x * width / 100, point.y * height / 100};
    box_from_polygons(object);
    return object;
  }
  object.left = number("x") * width / 100;
  object.top = number("y") * height / 100;
  object.right = object.left + number("width") * width / 100;
  object.bottom = object.top + number("height") * height / 100;
  const std::string_view rotation = find_value(value, "rotation");
  const double degrees = rotation.empty() ? 0 : number_of(rotation, "rotation");
  if (degrees != 0) set_turned_box(object, {object.left, object.top}, degrees);
  return object;
}

/// Kinds of results: objects; regions of other shapes; the others say nothing of places.
constexpr std::string_view kRegions[] = {"rectanglelabels", "polygonlabels", "labels", "rectangle",
                                         "polygon"};
constexpr std::string_view kOtherRegions[] = {
    "brushlabels",    "brush",    "bitmask",      "bitmasklabels", "ellipselabels",  "ellipse",
    "keypointlabels", "keypoint", "vectorlabels", "vector",        "videorectangle", "magicwand"};

class TaskReader {
 public:
  TaskReader(std::string_view task, ExportedImages& out)
      : task_(task), out_(out), image_(out.image(task_image(task))) {}

  void read() {
    std::string_view done;
    for (const std::string_view one : list_of(value_of(task_, "annotations"), "annotations")) {
      if (find_value(one, "was_cancelled") == "true") continue;
      if (!done.empty())
        return image_.problem("its annotations", "there are several, of one image, to choose from");
      done = one;
    }
    if (done.empty()) return image_.problem("its annotations", "nobody has finished them");
    const std::vector<std::string_view> results = list_of(value_of(done, "result"), "result");
    // A region that is labelled apart is there twice: once alone, and once with its class.
    for (const std::string_view result : results)
      if (has_class(result)) labelled_.insert(find_value(result, "id"));
    for (const std::string_view result : results) {
      const std::string name = "region " + printable(find_value(result, "id"));
      try {
        take(result, name);
      } catch (const Error& error) {
        image_.problem(name, error.what());
      }
    }
  }

 private:
  static bool has_class(std::string_view result) {
    const std::string_view value = find_value(result, "value");
    return !json_member(value, "labels").empty() ||
           !json_member(value, "rectanglelabels").empty() ||
           !json_member(value, "polygonlabels").empty();
  }

  void take(std::string_view result, const std::string& name) {
    const std::string type = text_of(result, "type");
    if (std::ranges::find(kOtherRegions, type) != std::end(kOtherRegions))
      throw Error(ErrorKind::kCorrupt, "a region of " + type + " is neither a box nor a polygon");
    if (std::ranges::find(kRegions, type) == std::end(kRegions))
      return out_.pass_over("results of the type '" + printable(type) + "'");
    const std::string_view id = find_value(result, "id");
    if (!has_class(result) && !id.empty() && labelled_.contains(id)) return;
    const std::uint32_t width = side_of(result, "original_width");
    const std::uint32_t height = side_of(result, "original_height");
    image_.set_size(width, height);
    const std::string_view turned = find_value(result, "image_rotation");
    if (!turned.empty() && !(is_number(turned) && number_of(turned, "image_rotation") == 0))
      throw Error(ErrorKind::kCorrupt, "it is for the image turned in Label Studio");
    const std::string_view value = value_of(result, "value");
    const auto label = region_class(value);
    if (!label) throw Error(ErrorKind::kCorrupt, "it has no class");
    out_.add(image_, *label, region_object(value, width, height), name);
  }

  std::string_view task_;
  ExportedImages& out_;
  ExportedImages::Image& image_;
  std::set<std::string_view> labelled_;  ///< ids
};

}  // namespace

void read_label_studio(const ExportFile& file, ExportedImages& out) {
  check_json(file.text);
  const std::size_t begin = file.text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (begin == std::string_view::npos || file.text[begin] != '[')
    throw Error(ErrorKind::kUnsupported, "it is not a list of tasks");
  std::size_t number = 0;
  for_each_element(file.text, [&](std::string_view json) {
    ++number;
    obey_stop();
    try {
      const std::size_t before = out.images().size();
      TaskReader reader(json, out);
      if (out.images().size() == before)
        throw Error(ErrorKind::kCorrupt, "its image is that of another task");
      reader.read();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      throw Error(ErrorKind::kCorrupt, fmt::format("task {}: {}", number, error.what()));
    }
  });
}

}  // namespace packhorse
