#pragma once

#include <charconv>
#include <concepts>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/option.h"
#include "packhorse/base/error.h"

/// The values of a table's rows, each made of a member: `[](auto& options) -> auto& { ... }`.
namespace packhorse::option_values {

[[noreturn]] void refuse(const Option& option, const std::string& value, const std::string& advice);
[[noreturn]] void refuse_number(const Option& option, const std::string& value);
[[noreturn]] void refuse_choice(const Option& option, const std::string& value);
bool same_word(std::string_view a, std::string_view b);
std::uint64_t bytes_of(const std::string& text, const Option& option);
std::string text_of_bytes(std::uint64_t bytes);
/// Each of `texts` with a zero byte behind it.
std::string joined(const std::vector<std::string>& texts);

inline void read(const OptionValues& values, const Option&, std::string& to) {
  to = values.front();
}
inline void read(const OptionValues& values, const Option&, std::filesystem::path& to) {
  to = values.front();
}
inline void read(const OptionValues& values, const Option&, std::vector<std::string>& to) {
  to = values;
}
template <std::integral Number>
void read(const OptionValues& values, const Option& option, Number& to) {
  const std::string& text = values.front();
  Number number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  // std::from_chars takes zeros in front, which others read as octal.
  if (code != std::errc() || std::to_string(number) != text ||
      std::cmp_less(number, option.least) || std::cmp_greater(number, option.most))
    refuse_number(option, text);
  to = number;
}

inline std::string text_of(const std::string& value) { return value; }
inline std::string text_of(const std::vector<std::string>& values) { return joined(values); }
inline std::string text_of(const std::filesystem::path& value) { return value.native(); }
template <std::integral Number>
std::string text_of(Number value) {
  return std::to_string(value);
}

/// A text, a path, a number or several texts.
template <class Options, class Member>
constexpr typename OptionOf<Options>::Value plain(Member) {
  return {[](Options& options, const OptionValues& values, const Option& option) {
            read(values, option, Member{}(options));
          },
          [](const Options& options) { return text_of(Member{}(options)); }};
}

/// `given` is what the flag sets.
template <class Options, bool given = true, class Member>
constexpr typename OptionOf<Options>::Value flag(Member) {
  return {[](Options& options, const OptionValues&, const Option&) { Member{}(options) = given; },
          [](const Options& options) {
            return std::string(Member{}(options) == given ? "given" : "");
          }};
}

template <class Options, class Member>
constexpr typename OptionOf<Options>::Value bytes(Member) {
  return {[](Options& options, const OptionValues& values, const Option& option) {
            Member{}(options) = bytes_of(values.front(), option);
          },
          [](const Options& options) { return text_of_bytes(Member{}(options)); }};
}

/// One of `names`, pairs of a name and a value; what has no name there is not given.
template <class Options, const auto& names, class Member>
constexpr typename OptionOf<Options>::Value choice(Member) {
  return {[](Options& options, const OptionValues& values, const Option& option) {
            for (const auto& [name, value] : names) {
              if (!same_word(name, values.front())) continue;
              Member{}(options) = value;
              return;
            }
            refuse_choice(option, values.front());
          },
          [](const Options& options) {
            for (const auto& [name, value] : names)
              if (Member{}(options) == value) return std::string(name);
            return std::string();
          }};
}

/// The names of `kinds`, or of pairs.
template <const auto& names>
std::vector<std::string> words() {
  std::vector<std::string> found;
  for (const auto& [name, value] : names) found.emplace_back(name);
  return found;
}

}  // namespace packhorse::option_values
