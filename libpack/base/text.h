#pragma once

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packhorse/base/error.h"

/// Texts that people and other programs write: letters, numbers, parts and lines.
namespace packhorse {

/// ASCII letters in lower case.
inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

/// The byte order mark that some editors put in front of a text in UTF-8. It is not part of the
/// text.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// The text behind its byte order mark, if it has one.
inline std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

/// A text without the blanks around it.
inline std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n") {
  text = text.substr(0, text.find_last_not_of(blanks) + 1);
  return text.substr(std::min(text.find_first_not_of(blanks), text.size()));
}

/// A text without line breaks and tabs, nor blanks around it: several are told apart by lines.
inline std::string in_one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return std::string(trimmed(text, " "));
}

/// The number that a text is, all of it, as std::from_chars() reads one; nothing for any other text
/// and for a number that is out of range.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  return code == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

/// The two numbers of "I/N", part I of N parts, where I is less than N; nothing for another text.
template <class Number>
std::optional<std::pair<Number, Number>> parse_part(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto part = parse_number<Number>(text.substr(0, slash));
  const auto parts = parse_number<Number>(text.substr(std::min(slash + 1, text.size())));
  if (!part || !parts || *part >= *parts) return std::nullopt;
  return std::pair(*part, *parts);
}

/// Takes the part of `rest` before the separator, or all where there is none, and the separator.
inline std::string_view take_part(std::string_view& rest, char separator) {
  const std::string_view part = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

/// The parts of a text between its separators: one more than it has of these.
inline std::vector<std::string_view> split_text(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size(); at += parts.back().size() + 1)
    parts.push_back(text.substr(at, text.find(separator, at) - at));
  return parts;
}

inline constexpr const char* kLineEndAdvice = "convert the line ends: dos2unix or mac2unix";

/// The lines of a text that people write, without a byte order mark and without their ends, LF or
/// CR LF.
///
///     TextLines lines(text, path);
///     for (std::string_view line; lines.next(line);) use(lines.number(), line);
class TextLines {
 public:
  /// `path` is for messages.
  explicit TextLines(std::string_view text, std::filesystem::path path = {})
      : rest_(without_byte_order_mark(text)), path_(std::move(path)) {}

  /// False at the end. Throws Error(kUsage) for a CR that ends no line: as one line, several would
  /// be lost.
  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    ++number_;
    line = take_part(rest_, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find('\r') != std::string_view::npos)
      throw Error(ErrorKind::kUsage,
                  "line " + std::to_string(number_) + " has a carriage return that ends no line",
                  path_, kLineEndAdvice);
    return true;
  }
  std::size_t number() const { return number_; }  ///< of the line, from 1

 private:
  std::string_view rest_;
  std::filesystem::path path_;
  std::size_t number_ = 0;
};

}  // namespace packhorse
