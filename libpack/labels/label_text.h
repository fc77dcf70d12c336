#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace packhorse {

/// The number in a `.cls` member: ASCII decimal and nothing else; nothing for any other text.
inline std::optional<std::int64_t> parse_label(std::string_view text) {
  std::int64_t label = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), label);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return label;
}

/// A text without the blanks around it.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text;
}

/// A text without line breaks and tabs, nor blanks around it: several are told apart by lines.
inline std::string in_one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  text.erase(text.find_last_not_of(' ') + 1);
  return text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
}

}  // namespace packhorse
