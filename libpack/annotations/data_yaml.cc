#include "annotations/data_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "annotations/yaml_tree.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "packhorse/base/bytes.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostYamlKeypoints = 1000, kMostPlaces = 1000;
constexpr std::string_view kRead[] = {"path", "train", "val",       "test",
                                      "nc",   "names", "kpt_shape", "flip_idx"};
constexpr const char* kNamesAdvice = "list the classes, one for each number: names: [person, car]";

[[noreturn]] void refuse_data(const std::string& what, const std::string& advice) {
  throw Error(ErrorKind::kUsage, "not a data.yaml of YOLO: " + what, {}, advice);
}

/// Refuses a text that has a quote at one end, which YAML takes for a part of it.
void refuse_stray_quote(const YamlNode& node) {
  if (node.quoted || node.text.empty()) return;
  for (const char end : {node.text.front(), node.text.back()})
    if (end == '"' || end == '\'')
      refuse_data(
          fmt::format("line {}: {} has a quote at one end", node.line, printable(node.text)),
          "remove the quote, or write one at both ends");
}

/// A list of names, or a map of all numbers from 0 to names.
std::vector<std::string> names_in(const YamlNode& node) {
  std::map<std::size_t, std::string> by_number;
  const auto add = [&](std::size_t number, const YamlNode& name) {
    if (name.kind != YamlNode::Kind::kText || name.text.empty() || name.is_null())
      refuse_data(fmt::format("line {}: the name of class {} is not a text{}", name.line, number,
                              name.is_null() ? ": without quotes, YAML takes it for nothing" : ""),
                  kNamesAdvice);
    refuse_stray_quote(name);
    by_number.emplace(number, name.text);
  };
  for (const YamlNode& name : node.items) add(by_number.size(), name);
  for (const auto& [key, name] : node.members) {
    const std::optional<std::size_t> number = parse_number<std::size_t>(key);
    if (!number)
      refuse_data(
          fmt::format("line {}: '{}' is not the number of a class", name.line, printable(key)),
          "number the names from 0: names: {0: person, 1: car}");
    add(*number, name);
  }
  if (by_number.empty()) refuse_data("it has no names", kNamesAdvice);
  if (by_number.rbegin()->first + 1 != by_number.size())
    refuse_data(fmt::format("its names have numbers up to {}, but there are {}",
                            by_number.rbegin()->first, by_number.size()),
                "number the names from 0, without gaps");
  std::vector<std::string> names;
  std::set<std::string> there;
  for (auto& [number, name] : by_number) {
    if (!there.insert(name).second)
      refuse_data("two classes are called " + printable(name), "give each its own name");
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> places_in(const std::string& split, const YamlNode& node) {
  std::vector<std::string> places;
  const auto add = [&](const YamlNode& place) {
    if (place.kind != YamlNode::Kind::kText || place.is_null() || place.text.empty())
      refuse_data(fmt::format("line {}: '{}' is not a path", place.line, split),
                  "give a folder, a .txt list of images, or a list of such");
    refuse_stray_quote(place);
    if (place.text.find('\0') != std::string::npos)
      refuse_data(fmt::format("line {}: a path with a zero byte", place.line), "correct it");
    if (places.size() == kMostPlaces)
      refuse_data(fmt::format("line {}: more than {} paths", place.line, kMostPlaces),
                  "put the images into fewer folders, or into a .txt list");
    places.push_back(place.text);
  };
  if (node.is_null()) return places;
  if (node.kind == YamlNode::Kind::kList)
    for (const YamlNode& item : node.items) add(item);
  else
    add(node);
  return places;
}

void take_keypoints(const YamlNode& node, DataYaml& data) {
  const auto number = [&](std::size_t i) {
    return i < node.items.size() ? parse_number<std::size_t>(node.items[i].text) : std::nullopt;
  };
  const auto points = number(0), numbers = number(1);
  if (node.items.size() != 2 || !points || !numbers || *points < 1 ||
      *points > kMostYamlKeypoints || (*numbers != 2 && *numbers != 3))
    refuse_data(fmt::format("line {}: kpt_shape is not [key points, 2 or 3]", node.line),
                "give for example kpt_shape: [17, 3]");
  data.keypoints = *points;
  data.keypoint_numbers = *numbers;
}

/// Whether a line is a member, or an element of a list, whose blank is missing.
bool lacks_blank(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  if (line.size() > 1 && line[0] == '-' && line[1] != '-' && line[1] != ' ' && line[1] != '\r')
    return true;
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon + 1 == line.size()) return false;
  const std::string_view name = line.substr(0, colon);
  const bool known = std::ranges::find(kRead, name) != std::end(kRead) ||
                     parse_number<std::size_t>(name).has_value();
  return known && line[colon + 1] != ' ' && line[colon + 1] != '\t' && line[colon + 1] != '\r';
}

/// Whether a backslash stands in double quotes, where YAML takes it for the begin of an escape.
bool escapes_by_accident(std::string_view line) {
  const std::size_t quote = line.find('"');
  return quote != std::string_view::npos && line.find('\\', quote) != std::string_view::npos;
}

bool has_odd_quotes(std::string_view line) {
  return std::ranges::count(line, '"') % 2 != 0 || std::ranges::count(line, '\'') % 2 != 0;
}

/// Says of a text that is no data.yaml which line is probably to blame, and throws.
void tell_likely_fault(std::string_view text) {
  struct Fault {
    bool (*is_there)(std::string_view line);
    const char *what, *advice;
  };
  constexpr Fault kFaults[] = {
      {lacks_blank, "a blank is missing behind the colon or the hyphen",
       "write for example train: images/train"},
      {escapes_by_accident, "a backslash in double quotes", "write / for each backslash"},
      {has_odd_quotes, "a quote that does not end", "end it, or remove it"}};
  for (const Fault& fault : kFaults) {
    std::string_view rest = text;
    for (std::size_t number = 1; !rest.empty(); ++number) {
      const std::string_view line = take_part(rest, '\n');
      if (line.find('#') == std::string_view::npos && fault.is_there(line))
        refuse_data(fmt::format("line {}: {}: {}", number, fault.what, printable(line)),
                    fault.advice);
    }
  }
}

DataYaml read_members(std::string_view text) {
  YamlNode root;
  try {
    root = parse_yaml(text);
  } catch (const Error& error) {
    throw Error(ErrorKind::kUsage, error.what(), {}, "correct the file");
  }
  DataYaml data;
  if (root.kind != YamlNode::Kind::kMap)
    refuse_data("it has no members", "give the data.yaml that says train, val and names");
  const YamlNode* const names = root.find("names");
  if (names == nullptr) refuse_data("it has no names", kNamesAdvice);
  data.names = names_in(*names);
  if (const YamlNode* const count = root.find("nc"); count != nullptr && !count->is_null()) {
    if (parse_number<std::size_t>(count->text) != data.names.size())
      refuse_data(fmt::format("nc is {}, but there are {} names", printable(count->text),
                              data.names.size()),
                  "correct nc or names");
  }
  if (const YamlNode* const path = root.find("path"); path != nullptr && !path->is_null()) {
    if (path->kind != YamlNode::Kind::kText) refuse_data("its path is not a text", "correct it");
    data.path = path->text;
  }
  for (const char* split : {"train", "val", "test"}) {
    const YamlNode* const node = root.find(split);
    if (node == nullptr) continue;
    std::vector<std::string> places = places_in(split, *node);
    if (!places.empty()) data.splits.push_back({split, std::move(places)});
  }
  if (data.splits.empty())
    refuse_data("it has neither train nor val nor test",
                "say where the images lie: train: images/train");
  const YamlNode* const shape = root.find("kpt_shape");
  if (shape != nullptr && !shape->is_null()) take_keypoints(*shape, data);
  data.has_flip_idx = root.find("flip_idx") != nullptr;
  for (const auto& [key, node] : root.members)
    if (std::ranges::find(kRead, key) == std::end(kRead)) data.others.push_back(key);
  return data;
}

}  // namespace

DataYaml parse_data_yaml(std::string_view text) {
  try {
    return read_members(text);
  } catch (const Error&) {
    tell_likely_fault(text);
    throw;
  }
}

DataYaml read_data_yaml(const std::filesystem::path& file) {
  // What is not a regular file would be waited for, or read for ever.
  std::error_code code;
  if (std::filesystem::exists(file, code) && !std::filesystem::is_regular_file(file, code))
    throw Error(ErrorKind::kUsage, "a data.yaml of YOLO is a file, and this is none", file,
                "give `targets=yolo:FOLDER/data.yaml`");
  if (std::filesystem::file_size(file, code) > 1u << 20 && !code)
    throw Error(ErrorKind::kUsage, "not a data.yaml of YOLO: larger than 1 MiB", file,
                "give the file that says train, val and names");
  try {
    return parse_data_yaml(as_text(read_file(file)));
  } catch (const Error& error) {
    if (!error.path().empty()) throw;
    throw Error(error.kind(), error.what(), file, error.advice());
  }
}

std::string yolo_labels_path(std::string_view image) {
  std::string path = "/" + std::string(image);
  const std::size_t name = path.rfind('/') + 1, dot = path.rfind('.');
  if (dot != std::string::npos && dot > name) path.resize(dot);
  path += ".txt";
  constexpr std::string_view kImages = "/images/";
  const std::size_t at = path.rfind(kImages);
  if (at != std::string::npos) path.replace(at, kImages.size(), "/labels/");
  return path.substr(1);
}

}  // namespace packhorse
