#pragma once

#include <algorithm>
#include <concepts>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/option.h"
#include "base/text.h"
#include "packhorse/base/error.h"

/// The values of a table's rows, each made of a member as a type: PACKHORSE_MEMBER(name).
#define PACKHORSE_MEMBER(path) ([](auto& options) -> auto& { return options.path; })

namespace packhorse::option_values {

[[noreturn]] void refuse(const Option& option, const std::string& value, const std::string& advice);
[[noreturn]] void refuse_number(const Option& option, const std::string& value);
[[noreturn]] void refuse_choice(const Option& option, const std::string& value);
bool same_word(std::string_view a, std::string_view b);
double number_of(const std::string& text, const Option& option);
std::vector<double> numbers_of(const std::string& text, const Option& option);
bool is_on(const OptionValues& values, const Option& option);
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
requires(!std::same_as<Number, bool>) void read(const OptionValues& values, const Option& option,
                                                Number& to) {
  const std::string& text = values.front();
  const auto number = parse_number<Number>(text);
  // It takes zeros in front, which others read as octal.
  if (!number || std::to_string(*number) != text || std::cmp_less(*number, option.least) ||
      std::cmp_greater(*number, option.most))
    refuse_number(option, text);
  to = *number;
}

inline void read(const OptionValues& values, const Option& option, double& to) {
  to = number_of(values.front(), option);
}
inline void read(const OptionValues& values, const Option& option, bool& to) {
  to = is_on(values, option);
}
template <std::floating_point Number>
void read(const OptionValues& values, const Option& option, std::vector<Number>& to) {
  to.clear();
  for (const double number : numbers_of(values.front(), option))
    to.push_back(static_cast<Number>(number));
}
template <class T>
void read(const OptionValues& values, const Option& option, std::optional<T>& to) {
  T value{};
  read(values, option, value);
  to = std::move(value);
}

inline std::string text_of(const std::string& value) { return value; }
inline std::string text_of(const std::vector<std::string>& values) { return joined(values); }
inline std::string text_of(const std::filesystem::path& value) { return value.native(); }
template <std::integral Number>
requires(!std::same_as<Number, bool>) std::string text_of(Number value) {
  return std::to_string(value);
}
std::string text_of(double value);
inline std::string text_of(bool value) { return value ? "true" : "false"; }
template <std::floating_point Number>
std::string text_of(const std::vector<Number>& values) {
  std::string text;
  for (const Number value : values) text += (text.empty() ? "" : ",") + text_of(double{value});
  return text;
}
template <class T>
std::string text_of(const std::optional<T>& value) {
  return value ? text_of(*value) : std::string();
}

template <class T>
struct EnumOf {
  using Type = T;
};
template <class T>
struct EnumOf<std::optional<T>> {
  using Type = T;
};
template <class T>
using enum_of = typename EnumOf<std::remove_cvref_t<T>>::Type;

/// A text, a path, a number or several texts.
template <class Options, class Member>
constexpr typename OptionOf<Options>::Value plain(Member) {
  return {[](Options& options, const OptionValues& values, const Option& option) {
            read(values, option, Member{}(options));
          },
          [](const Options& options) { return text_of(Member{}(options)); }};
}

/// What a flag sets instead of another value.
template <class Options, auto kGiven, class Member>
constexpr typename OptionOf<Options>::Value instead(Member) {
  return {[](Options& options, const OptionValues&, const Option&) { Member{}(options) = kGiven; },
          [](const Options& options) {
            return std::string(Member{}(options) == kGiven ? "given" : "");
          }};
}

template <class Options, bool given = true, class Member>
constexpr typename OptionOf<Options>::Value flag(Member member) {
  return instead<Options, given>(member);
}

template <class Options, class Member>
constexpr typename OptionOf<Options>::Value bytes(Member) {
  return {[](Options& options, const OptionValues& values, const Option& option) {
            Member{}(options) = bytes_of(values.front(), option);
          },
          [](const Options& options) { return text_of_bytes(Member{}(options)); }};
}

/// One of names that stand in the order of the enumeration's values, which may be std::optional.
template <class Options, std::span<const std::string_view> (*names)(), class Member>
constexpr typename OptionOf<Options>::Value named(Member) {
  return {[](Options& options, const OptionValues& values, const Option& option) {
            const auto found = std::ranges::find(names(), values.front());
            if (found == names().end()) refuse_choice(option, values.front());
            Member{}(options) =
                static_cast<enum_of<decltype(Member{}(options))>>(found - names().begin());
          },
          [](const Options& options) {
            const std::optional<enum_of<decltype(Member{}(options))>> value = Member{}(options);
            return value ? std::string(names()[static_cast<std::size_t>(*value)]) : std::string();
          }};
}

template <std::span<const std::string_view> (*names)()>
std::vector<std::string> words_of() {
  return {names().begin(), names().end()};
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
