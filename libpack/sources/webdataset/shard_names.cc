#include "sources/webdataset/shard_names.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <map>
#include <optional>

#include "archive/archive_scan.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/text.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/manifest.h"
#include "sources/folder_look.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostNames = 1'000'000;

[[noreturn]] void too_many(const std::string& pattern) {
  throw Error(ErrorKind::kUsage, "the pattern stands for more than a million names", pattern);
}

/// The choices between a pair of braces; empty when they are neither a range nor a list.
std::vector<std::string> choices(const std::string& inside, const std::string& pattern) {
  std::vector<std::string> all;
  if (const std::size_t dots = inside.find(".."); dots != std::string::npos) {
    const std::string first = inside.substr(0, dots), last = inside.substr(dots + 2);
    const auto from = parse_number<std::uint64_t>(first), to = parse_number<std::uint64_t>(last);
    if (!from || !to) return {};
    const bool padded =
        (first.size() > 1 && first[0] == '0') || (last.size() > 1 && last[0] == '0');
    const std::size_t width = padded ? std::max(first.size(), last.size()) : 0;
    if ((*from < *to ? *to - *from : *from - *to) >= kMostNames) too_many(pattern);
    for (std::uint64_t i = *from;; *from < *to ? ++i : --i) {
      std::string digits = std::to_string(i);
      if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
      all.push_back(std::move(digits));
      if (i == *to) return all;
    }
  }
  if (inside.find(',') == std::string::npos) return {};
  for (std::size_t begin = 0, end = 0; begin <= inside.size(); begin = end + 1) {
    end = std::min(inside.find(',', begin), inside.size());
    all.push_back(inside.substr(begin, end - begin));
  }
  return all;
}

bool is_glob(const std::string& name) { return name.find_first_of("*?[") != std::string::npos; }

std::vector<fs::path> expand_glob(const std::string& pattern) {
  std::vector<fs::path> paths;
  glob_t found{};
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
  return paths;
}

/// The pattern of all shards whose names differ from `name` only in their numbers.
std::string set_of(std::string_view name) {
  std::string pattern;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] < '0' || name[i] > '9') {
      pattern += name[i];
    } else if (!pattern.ends_with('*')) {
      pattern += "[0-9]*";
    }
  }
  return pattern;
}

std::vector<fs::path> shards_in(const fs::path& folder) {
  std::vector<fs::path> shards;
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : entries_in(folder)) {
    const std::string name = entry.path().filename().native();
    if (naming::is_hidden(name) || !has_archive_name(name) || !entry.is_regular_file()) continue;
    shards.push_back(entry.path());
    names.push_back(name);
  }
  refuse_several_sets(names, folder);
  return shards;
}

}  // namespace

void refuse_several_sets(const std::vector<std::string>& names, const fs::path& folder) {
  constexpr std::size_t kNamed = 8;
  std::map<std::string, int> sets;  // pattern -> shards
  for (const std::string& name : names) ++sets[set_of(name)];
  if (sets.size() < 2) return;
  std::string text;
  std::size_t named = 0;
  for (const auto& [pattern, shards] : sets) {
    if (named == kNamed) break;
    text += fmt::format("{}'{}' ({})", named++ == 0 ? "" : ", ", pattern, shards);
  }
  if (sets.size() > named) text += fmt::format(" and {} more", sets.size() - named);
  throw Error(ErrorKind::kUsage, "the folder holds shards of several sets: " + text, folder,
              "give one of them, in quotes: '" + (folder / sets.begin()->first).string() + "'");
}

std::vector<fs::path> matching_files(const std::string& pattern) {
  std::vector<fs::path> shards;
  for (const std::string& name : expand_braces(pattern)) {
    if (is_glob(name)) {
      const std::vector<fs::path> found = expand_glob(name);
      shards.insert(shards.end(), found.begin(), found.end());
    } else if (fs::exists(name)) {
      shards.emplace_back(name);
    } else {
      throw Error(ErrorKind::kNotFound, "a shard named by the pattern does not exist", name,
                  "check the pattern, or get the missing shard");
    }
  }
  return shards;
}

bool is_shard_pattern(const fs::path& path) {
  return path.native().find('{') != std::string::npos || is_glob(path.native());
}

std::vector<std::string> expand_braces(const std::string& pattern) {
  std::vector<std::string> all = {""};
  std::size_t at = 0;
  while (at < pattern.size()) {
    const std::size_t open = std::min(pattern.find('{', at), pattern.size());
    const std::size_t close = std::min(pattern.find('}', open), pattern.size());
    std::vector<std::string> next;
    if (close < pattern.size()) next = choices(pattern.substr(open + 1, close - open - 1), pattern);
    const std::size_t end = next.empty() ? std::min(open + 1, pattern.size()) : close + 1;
    const std::string plain = pattern.substr(at, next.empty() ? end - at : open - at);
    if (next.empty()) next = {""};
    if (all.size() * next.size() > kMostNames) too_many(pattern);
    std::vector<std::string> longer;
    for (const std::string& begin : all) {
      for (const std::string& choice : next) longer.push_back(begin + plain + choice);
    }
    all = std::move(longer);
    at = end;
  }
  return all;
}

std::vector<fs::path> find_shards(const fs::path& source) {
  std::vector<fs::path> shards;
  if (fs::is_directory(source)) {
    shards = shards_in(source);
  } else if (fs::exists(source)) {
    shards = {source};
  } else {
    shards = matching_files(source.native());
  }
  if (shards.empty())
    throw Error(ErrorKind::kNotFound, "there are no shards", source, "check the path");
  std::ranges::sort(shards, [](const fs::path& a, const fs::path& b) {
    return a.filename().native() < b.filename().native();
  });
  shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
  for (std::size_t i = 1; i < shards.size(); ++i) {
    if (shards[i].filename() == shards[i - 1].filename()) {
      throw Error(ErrorKind::kUsage, "two shards have the same file name", shards[i],
                  "pack them one folder at a time");
    }
  }
  return shards;
}

bool is_shard_folder(const fs::path& path, FolderLook& look) {
  std::error_code code;
  if (!fs::is_directory(path, code) || fs::exists(path / kManifestName, code)) return false;
  bool archives = false, folders = false;
  look.look_in(path, [&](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().native();
    if (naming::is_hidden(name)) return true;
    folders = entry.is_directory(code);
    archives = archives || has_archive_name(name);
    return !folders;
  });
  return archives && !folders;
}

}  // namespace packhorse
