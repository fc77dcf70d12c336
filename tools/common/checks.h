#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/choices.h"

/// Checks for values of options. They show in the help like CLI11's own, and say what to give
/// instead of what they refuse.
namespace packhorse::program {

/// Parts what a check says is wrong from what to do about it; usage_error() knows it.
inline constexpr char kAdviceFollows = '\n';

CLI::Validator one_of(std::vector<std::string> names);
CLI::Validator positive();
CLI::Validator not_negative();
CLI::Validator in_range(int least, int most);

/// Accepts what `check` does; `advice` is about the value that it refuses.
CLI::Validator advised(const CLI::Validator& check,
                       std::function<std::string(const std::string&)> advice);

/// Refuses what `look_up` throws an Error for, in its words; shown in the help as `name`.
CLI::Validator known_to(std::function<void(const std::string&)> look_up, const std::string& name);

/// Turns a name into its value, whatever its letter case.
template <class Value>
CLI::Validator named(const std::vector<std::pair<std::string, Value>>& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  return advised(CLI::CheckedTransformer(values, CLI::ignore_case),
                 [names](const std::string& value) { return choice_advice(value, names); });
}

}  // namespace packhorse::program
