#pragma once

#include <string>
#include <string_view>

namespace packhorse {

/// ASCII letters in lower case.
inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

/// The byte order mark that some editors put in front of a text in UTF-8. It is no part of the
/// text.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// The text behind its byte order mark, if it has one.
inline std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

}  // namespace packhorse
