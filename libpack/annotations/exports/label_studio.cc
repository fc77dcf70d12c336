// Label Studio's JSON export (https://labelstud.io/guide/export): coordinates are percents of the
// image, which each result gives the size of.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "annotations/exports/export_notation.h"
#include "annotations/exports/parsed_values.h"
#include "base/json_slices.h"
#include "base/printable.h"
#include "base/stop.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostTaskBytes = std::size_t{64} << 20;  // masks are lists of numbers

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
std::string task_image(const ExactJson& task) {
  const ExactJson& data = value_of(task, "data");
  if (!data.is_object()) throw Error(ErrorKind::kCorrupt, "its data is not a JSON object");
  std::set<std::string> found;
  for (const auto& [name, value] : data.items()) {
    if (!value.is_string()) continue;
    std::string path = path_of_address(value.get_ref<const std::string&>());
    if (naming::has_any_image_name(path)) found.insert(std::move(path));
  }
  if (found.size() != 1)
    throw Error(ErrorKind::kCorrupt,
                fmt::format("its data names {} images", found.empty() ? "no" : "several"));
  return *found.begin();
}

std::uint32_t side_of(const ExactJson& result, const char* name) {
  return whole_of(value_of(result, name), name);
}

/// The one class of a region; nothing where it has none.
std::optional<std::string> region_class(const ExactJson& value) {
  for (const char* name : {"rectanglelabels", "polygonlabels", "labels"}) {
    const ExactJson* const labels = find_value(value, name);
    if (labels == nullptr) continue;
    const ExactJson::array_t& list = list_of(*labels, name);
    if (list.size() != 1 || !list.front().is_string())
      throw Error(ErrorKind::kCorrupt, fmt::format("it has {} classes", list.size()));
    return list.front().get<std::string>();
  }
  return std::nullopt;
}

AnnotatedObject region_object(const ExactJson& value, double width, double height) {
  AnnotatedObject object;
  const auto number = [&](const char* name) { return number_of(value_of(value, name), name); };
  if (const ExactJson* const points = find_value(value, "points")) {
    std::vector<Point>& polygon = object.polygons.emplace_back();
    for (const ExactJson& point : list_of(*points, "points")) {
      const std::vector<double> numbers = numbers_of(point, "point");
      if (numbers.size() != 2) throw Error(ErrorKind::kCorrupt, "a point is not x and y");
      polygon.push_back({numbers[0] * width / 100, numbers[1] * height / 100});
    }
    box_from_polygons(object);
    return object;
  }
  object.left = number("x") * width / 100;
  object.top = number("y") * height / 100;
  object.right = object.left + number("width") * width / 100;
  object.bottom = object.top + number("height") * height / 100;
  const ExactJson* const rotation = find_value(value, "rotation");
  const double degrees = rotation == nullptr ? 0 : number_of(*rotation, "rotation");
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
  TaskReader(const ExactJson& task, ExportedImages& out)
      : task_(task), out_(out), image_(out.image(task_image(task))) {}

  void read() {
    const ExactJson* done = nullptr;
    for (const ExactJson& one : list_of(value_of(task_, "annotations"), "annotations")) {
      const ExactJson* const cancelled = find_value(one, "was_cancelled");
      if (cancelled != nullptr && *cancelled == true) continue;
      if (done != nullptr)
        return image_.problem("its annotations", "there are several, of one image, to choose from");
      done = &one;
    }
    if (done == nullptr) return image_.problem("its annotations", "nobody has finished them");
    const ExactJson::array_t& results = list_of(value_of(*done, "result"), "result");
    // A region that is labelled apart is there twice: once alone, and once with its class.
    for (const ExactJson& result : results)
      if (const ExactJson* const id = find_value(result, "id"); id != nullptr && has_class(result))
        labelled_.insert(id->dump());
    for (const ExactJson& result : results) {
      const ExactJson* const id = find_value(result, "id");
      const std::string name = "region " + (id == nullptr ? "" : printable(id->dump()));
      try {
        take(result, name);
      } catch (const Error& error) {
        image_.problem(name, error.what());
      }
    }
  }

 private:
  static bool has_class(const ExactJson& result) {
    const ExactJson* const value = find_value(result, "value");
    return value != nullptr && value->is_object() &&
           (value->contains("labels") || value->contains("rectanglelabels") ||
            value->contains("polygonlabels"));
  }

  void take(const ExactJson& result, const std::string& name) {
    const std::string type = text_of(result, "type");
    if (std::ranges::find(kOtherRegions, type) != std::end(kOtherRegions))
      throw Error(ErrorKind::kCorrupt, "a region of " + type + " is neither a box nor a polygon");
    if (std::ranges::find(kRegions, type) == std::end(kRegions))
      return out_.pass_over("results of the type '" + printable(type) + "'");
    const ExactJson* const id = find_value(result, "id");
    if (!has_class(result) && id != nullptr && labelled_.contains(id->dump())) return;
    const std::uint32_t width = side_of(result, "original_width");
    const std::uint32_t height = side_of(result, "original_height");
    image_.set_size(width, height);
    const ExactJson* const turned = find_value(result, "image_rotation");
    if (turned != nullptr && *turned != 0)
      throw Error(ErrorKind::kCorrupt, "it is for the image turned in Label Studio");
    const ExactJson& value = value_of(result, "value");
    const auto label = region_class(value);
    if (!label) throw Error(ErrorKind::kCorrupt, "it has no class");
    out_.add(image_, *label, region_object(value, width, height), name);
  }

  const ExactJson& task_;
  ExportedImages& out_;
  ExportedImages::Image& image_;
  std::set<std::string> labelled_;  ///< ids
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
    const ExactJson task = parse_json(json, {.bytes = kMostTaskBytes});
    try {
      const std::size_t before = out.images().size();
      TaskReader reader(task, out);
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
