#include "common/checks.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "packhorse/base/error.h"

namespace packhorse::program {

CLI::Validator advised(const CLI::Validator& check,
                       std::function<std::string(const std::string&)> advice) {
  const auto worded = [check, advice = std::move(advice)](std::string& value) -> std::string {
    const std::string given = value;
    if (check(value).empty()) return {};
    return fmt::format("'{}' is not a valid value{}{}", printable(given), kAdviceFollows,
                       advice(given));
  };
  return {worded, check.get_description()};
}

CLI::Validator known_to(std::function<void(const std::string&)> look_up, const std::string& name) {
  const auto worded = [look_up = std::move(look_up)](const std::string& value) -> std::string {
    try {
      look_up(value);
      return {};
    } catch (const Error& error) {
      return printable_text(error.what()) + kAdviceFollows + error.advice();
    }
  };
  return {worded, name};
}

CLI::Validator one_of(std::vector<std::string> names) {
  return advised(CLI::IsMember(names),
                 [names](const std::string& value) { return choice_advice(value, names); });
}

CLI::Validator positive() {
  return advised(CLI::PositiveNumber, [](const std::string&) { return "give a number above 0"; });
}

CLI::Validator not_negative() {
  return advised(CLI::NonNegativeNumber,
                 [](const std::string&) { return "give a number that is 0 or larger"; });
}

CLI::Validator in_range(int least, int most) {
  return advised(CLI::Range(least, most), [least, most](const std::string&) {
    return fmt::format("give a number from {} to {}", least, most);
  });
}

}  // namespace packhorse::program
