#include "annotations/darknet_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/file.h"
#include "base/paths.h"
#include "base/printable.h"
#include "base/text.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kMostDarknetBytes = 1u << 20;
constexpr std::string_view kDataBlanks = " \t\r";
constexpr std::string_view kDataFolder = "data/";

[[noreturn]] void refuse_darknet(const fs::path& file, const std::string& what) {
  throw Error(ErrorKind::kUsage, "not an obj.data of Darknet: " + what, file,
              "let it say for example: train = data/train.txt and names = data/obj.names");
}

/// Calls `visit` for each line that is not empty, without blanks around it.
void for_each_line(const fs::path& file,
                   const std::function<void(std::size_t line, std::string_view text)>& visit) {
  std::error_code code;
  if (!fs::is_regular_file(file, code)) refuse_darknet(file, "it is not a file");
  if (fs::file_size(file, code) > kMostDarknetBytes) refuse_darknet(file, "larger than 1 MiB");
  const std::string all = read_text(file);
  TextLines lines(all, file);
  for (std::string_view row; lines.next(row);) {
    if (!is_utf8(row)) refuse_darknet(file, fmt::format("line {} is not in UTF-8", lines.number()));
    if (const std::string_view content = trimmed(row, kDataBlanks); !content.empty())
      visit(lines.number(), content);
  }
}

std::map<std::string, std::string> members_of(const fs::path& file) {
  std::map<std::string, std::string> members;
  for_each_line(file, [&](std::size_t line, std::string_view text) {
    if (text.front() == '#') return;
    const std::size_t equal = text.find('=');
    if (equal == std::string_view::npos)
      refuse_darknet(file, fmt::format("line {} is not NAME = VALUE", line));
    const std::string name(trimmed(text.substr(0, equal), kDataBlanks));
    if (!members.emplace(name, trimmed(text.substr(equal + 1), kDataBlanks)).second)
      refuse_darknet(file, fmt::format("line {}: '{}' is there twice", line, printable(name)));
  });
  return members;
}

std::vector<std::string> darknet_names(const fs::path& file) {
  std::vector<std::string> names;
  std::set<std::string> there;
  for_each_line(file, [&](std::size_t line, std::string_view name) {
    if (!there.emplace(name).second)
      refuse_darknet(file, fmt::format("line {}: two classes are called {}", line,
                                       printable(std::string(name))));
    names.emplace_back(name);
  });
  if (names.empty()) refuse_darknet(file, "it names no class");
  return names;
}

/// A path in the folder: as it is written, or without the folder `data`.
std::string place_of(const fs::path& folder, const std::string& path) {
  const std::string_view inner = without_data_folder(path);
  return inner.empty() || path_exists(folder / path) ? path : std::string(inner);
}

}  // namespace

std::string_view without_data_folder(std::string_view path) {
  return path.starts_with(kDataFolder) ? path.substr(kDataFolder.size()) : std::string_view();
}

DataYaml read_darknet_data(const fs::path& file) {
  const std::map<std::string, std::string> members = members_of(file);
  const fs::path folder = folder_around(file);
  const auto named = [&](const char* name) {
    const auto found = members.find(name);
    return found == members.end() ? std::string() : place_of(folder, found->second);
  };
  DataYaml data;
  data.darknet = true;
  const std::string names = named("names"), train = named("train"), valid = named("valid");
  if (names.empty()) refuse_darknet(file, "it has no names");
  if (train.empty() && valid.empty()) refuse_darknet(file, "it has neither train nor valid");
  data.names = darknet_names(folder / names);
  if (const auto count = members.find("classes"); count != members.end()) {
    if (count->second != std::to_string(data.names.size()))
      refuse_darknet(
          file, fmt::format("classes is {}, but there are {} names in {}", printable(count->second),
                            data.names.size(), printable(names)));
  }
  if (!train.empty()) data.splits.push_back({"train", {train}});
  // CVAT names one list for both where there is one split.
  if (!valid.empty() && valid == train)
    data.notes.push_back("train and valid are the same list: its images are packed as train");
  else if (!valid.empty())
    data.splits.push_back({"val", {valid}});
  return data;
}

}  // namespace packhorse
