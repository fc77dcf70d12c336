#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "sources/arrays/array_files.h"
#include "sources/layout/folder_roles.h"

namespace packhorse {

namespace {

using Role = ArrayName::Role;

constexpr std::array<std::string_view, 7> kImages = {"images", "image", "imgs",  "img",
                                                     "x",      "data",  "pixels"};
constexpr std::array<std::string_view, 5> kLabels = {"labels", "label", "targets", "target", "y"};

Role role_of(std::string_view word) {
  const auto is_in = [&](const auto& words) {
    return std::ranges::find(words, word) != words.end();
  };
  if (is_in(kImages)) return Role::kImages;
  return is_in(kLabels) ? Role::kLabels : Role::kNone;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : lower_case(text)) {
    const bool part = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (part) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// The role that the words of one part of a name agree on.
Role role_of(const std::vector<std::string>& words) {
  Role found = Role::kNone;
  for (const std::string& word : words) {
    const Role role = role_of(word);
    if (role == Role::kNone || role == found) continue;
    if (found != Role::kNone) return Role::kNone;  // "label_images"
    found = role;
  }
  return found;
}

}  // namespace

ArrayName parse_array_name(std::string_view name) {
  ArrayName parsed;
  for (std::string_view left = name; parsed.role == Role::kNone && !left.empty();) {
    const std::size_t slash = left.rfind('/');
    parsed.role = role_of(words_of(left.substr(slash == std::string_view::npos ? 0 : slash + 1)));
    left = left.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
  for (const std::string& word : words_of(name)) {
    if (role_of(word) != Role::kNone) continue;
    if (const std::string split = split_named(word); !split.empty()) {
      parsed.unclear = parsed.unclear || (!parsed.split.empty() && parsed.split != split);
      parsed.split = split;
    } else {
      parsed.rest += word + ' ';
    }
  }
  return parsed;
}

}  // namespace packhorse
