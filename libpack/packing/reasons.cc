#include "packing/reasons.h"

#include <algorithm>

namespace packhorse {

namespace {

constexpr std::size_t kMostReasons = 10;

std::string without_digits(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c >= '0' && c <= '9'; }, '0');
  text.erase(
      std::unique(text.begin(), text.end(), [](char a, char b) { return a == '0' && b == '0'; }),
      text.end());
  return text;
}

}  // namespace

void Reasons::add(Reason code, std::string_view words, const std::string& path) {
  PackPreview::Reason& one = by_kind_[{code, without_digits(std::string(words))}];
  if (one.count++ == 0) {
    one.code = code;
    one.reason = words;
    one.path = path;
  }
}

std::vector<PackPreview::Reason> Reasons::most_frequent(std::uint64_t& left_out) {
  std::vector<PackPreview::Reason> all;
  for (auto& [kind, one] : by_kind_) all.push_back(std::move(one));
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.count > b.count; });
  left_out = all.size() - std::min(all.size(), kMostReasons);
  all.resize(all.size() - left_out);
  return all;
}

}  // namespace packhorse
