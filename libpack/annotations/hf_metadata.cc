#include "annotations/hf_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "annotations/json_values.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/text.h"
#include "packhorse/base/error.h"
#include "packhorse/base/mapped_file.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr const char* kCategoryNames[] = {"categories", "category", "labels", "label"};

[[noreturn]] void refuse(const fs::path& file, std::size_t line, const std::string& what) {
  throw Error(ErrorKind::kUsage, fmt::format("line {}: {}", line, what), file,
              "give metadata with a JSON object a line, each with \"file_name\" and \"objects\"");
}

/// Calls `visit` for the first row and each that has the text, until it returns false.
void for_each_row(const fs::path& path,
                  const std::function<bool(std::size_t line, ExactJson& row)>& visit,
                  std::string_view with = {}) {
  const MappedFile file(path);
  std::string_view text = as_text(file.bytes());
  bool first = true;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string_view row = take_part(text, '\n');
    if (row.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (!std::exchange(first, false) && row.find(with) == std::string_view::npos) continue;
    try {
      ExactJson parsed = parse_json(row);
      if (!visit(line, parsed)) return;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      if (!error.path().empty()) throw;
      refuse(path, line, error.what());
    }
  }
}

void name_category(ExactJson& object) {
  for (const char* name : kCategoryNames) {
    const auto found = object.find(name);
    if (found == object.end()) continue;
    object["category_id"] = std::move(*found);
    object.erase(name);
    return;
  }
}

/// Takes the objects out of a row, one by one. Those that a list is too short for lack its member.
std::vector<ExactJson> take_objects(ExactJson& row) {
  std::vector<ExactJson> objects;
  if (!row.is_object()) throw Error(ErrorKind::kCorrupt, "it is not a JSON object");
  const ExactJson given = row.value("objects", ExactJson());
  if (given.is_array()) {
    objects = given.get_ref<const ExactJson::array_t&>();
  } else if (!given.is_null()) {
    if (!given.is_object())
      throw Error(ErrorKind::kCorrupt, "its objects are neither a list nor lists by name");
    for (const auto& [name, list] : given.get_ref<const ExactJson::object_t&>()) {
      if (!list.is_array())
        throw Error(ErrorKind::kCorrupt, "its objects' " + printable(name) + " is not a list");
      if (objects.size() < list.size()) objects.resize(list.size(), ExactJson::object());
      for (std::size_t i = 0; i < list.size(); ++i) objects[i][name] = list[i];
    }
  }
  row.erase("objects");
  for (ExactJson& object : objects) {
    if (!object.is_object())
      throw Error(ErrorKind::kCorrupt, "one of its objects is not a JSON object");
    name_category(object);
  }
  return objects;
}

/// What COCO's file says of a row's image.
ExactJson image_of(ExactJson row, std::size_t line) {
  ExactJson image = {{"id", line}, {"file_name", file_name_of(row.dump())}};
  row.erase("file_name");
  for (const char* side : {"width", "height"}) {
    if (const ExactJson extent = row.value(side, ExactJson()); !extent.is_null())
      image[side] = whole_of(extent.dump(), side);
    row.erase(side);
  }
  if (!row.empty()) image["metadata"] = std::move(row);
  return image;
}

std::string categories_of(const std::vector<std::string>& classes) {
  ExactJson categories = ExactJson::array();
  for (std::size_t i = 0; i < classes.size(); ++i)
    categories.push_back({{"id", i}, {"name", classes[i]}});
  return categories.dump();
}

void append(std::string& list, const ExactJson& element) {
  list.append(list.empty() ? "" : ",").append(element.dump());
}

}  // namespace

HfMembers hf_members(const fs::path& file) {
  HfMembers found;
  try {
    bool first = true;
    for_each_row(
        file,
        [&](std::size_t, ExactJson& row) {
          const bool named = row.is_object() && row.contains("file_name");
          if (std::exchange(first, false))
            found.label = named && row.contains("label") && !row["label"].is_null();
          found.objects = named && row.contains("objects");
          return !found.objects;
        },
        "\"objects\"");
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): it is told where the file is read
  }
  return found;
}

std::vector<std::string> hf_class_names(const std::vector<fs::path>& files) {
  std::set<std::string> names;
  for (const fs::path& file : files) {
    for_each_row(file, [&](std::size_t line, ExactJson& row) {
      for (const ExactJson& object : take_objects(row)) {
        const auto category = object.find("category_id");
        if (category == object.end()) continue;
        if (!category->is_string())
          throw Error(ErrorKind::kUsage,
                      fmt::format("line {}: the categories of the objects are numbers", line), file,
                      "name them, a name a line, the first for 0: `target_classes=FILE`");
        names.insert(category->get<std::string>());
      }
      return true;
    });
  }
  if (names.empty())
    throw Error(ErrorKind::kUsage, "no object has a category",
                files.empty() ? fs::path() : files.front(),
                "name them, a name a line: `target_classes=FILE`");
  return {names.begin(), names.end()};
}

std::string coco_of_hf_metadata(const fs::path& file, const std::vector<std::string>& classes) {
  std::string images, annotations;
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < classes.size(); ++i) places.emplace(classes[i], i);
  for_each_row(file, [&](std::size_t line, ExactJson& row) {
    for (ExactJson& object : take_objects(row)) {
      object["image_id"] = line;
      const auto category = object.find("category_id");
      if (category != object.end() && category->is_string()) {
        const auto found = places.find(category->get_ref<const std::string&>());
        if (found != places.end()) *category = found->second;
      }
      append(annotations, object);
    }
    append(images, image_of(std::move(row), line));
    return true;
  });
  return fmt::format(R"({{"categories":{},"images":[{}],"annotations":[{}]}})",
                     categories_of(classes), images, annotations);
}

}  // namespace packhorse
