#include "base/option.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/byte_size.h"
#include "base/choices.h"
#include "base/option_values.h"
#include "base/printable.h"
#include "base/text.h"

namespace packhorse {

namespace {

std::atomic<const OptionSpelling*> chosen_spelling = nullptr;

constexpr std::string_view kNameLetters = "abcdefghijklmnopqrstuvwxyz_0123456789-";

/// "DATASET, verify=full" in "`inspect(verify=full)`"
CommandCall call_of(std::string_view command, std::string_view between) {
  CommandCall made{std::string(command), {}, {}};
  while (!between.empty()) {
    const std::string_view part = between.substr(0, between.find(", "));
    between.remove_prefix(std::min(between.size(), part.size() + 2));
    const std::size_t equals = part.find('=');
    if (equals != part.npos && equals == part.find_first_not_of(kNameLetters))
      made.options.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    else
      made.arguments.emplace_back(part);
  }
  return made;
}

/// What stands between two backquotes, as it is shown; nothing where it names nothing.
std::string spelled_quote(std::string_view text) {
  const std::size_t end = text.find_first_not_of(kNameLetters);
  if (end == text.npos || end == 0) return {};
  if (text[end] == '=') return opt(text.substr(0, end), text.substr(end + 1));
  if (text[end] != '(' || text.back() != ')') return {};
  return "`" + call(call_of(text.substr(0, end), text.substr(end + 1, text.size() - end - 2))) +
         "`";
}

}  // namespace

std::string Option::flag() const {
  std::string flag(kind == Kind::kOff ? off : name);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

bool NumberRange::has(double value) const {
  return std::isfinite(value) && (above ? value > least : value >= least) &&
         (below ? value < most : value <= most);
}

std::string NumberRange::text() const {
  std::string words;
  if (std::isfinite(least)) words = fmt::format("{} {}", above ? "above" : "of at least", least);
  if (std::isfinite(most))
    words +=
        fmt::format("{}{} {}", words.empty() ? "" : " and ", below ? "below" : "at most", most);
  return words;
}

void refuse_both(const Option& option, const GivenOptions& given) {
  for (const std::string_view other : option.excludes) {
    if (!other.empty() && given.contains(other))
      throw Error(ErrorKind::kUsage, opt(option.name) + " excludes " + opt(other), {},
                  "give only one of the two");
  }
}

std::string shell_command(std::string_view command) {
  constexpr std::array<std::string_view, 5> kTrains = {"fit", "eval", "detect", "measure", "sweep"};
  const bool trains = std::ranges::find(kTrains, command) != kTrains.end();
  return (trains ? "packhorse-train " : "packhorse ") + std::string(command);
}

std::string opt(std::string_view name, std::string_view value) {
  if (const OptionSpelling* const spelling = chosen_spelling) return spelling->option(name, value);
  return "`" + std::string(name) + "=" + std::string(value) + "`";
}

std::string call(const CommandCall& command) {
  if (const OptionSpelling* const spelling = chosen_spelling) return spelling->call(command);
  std::string inside;
  const auto add = [&](const std::string& one) { inside += (inside.empty() ? "" : ", ") + one; };
  for (const std::string& argument : command.arguments) add(argument);
  for (const auto& [name, value] : command.options) add(name + "=" + value);
  return command.command + "(" + inside + ")";
}

std::string spelled(std::string_view text) {
  std::string out;
  for (std::size_t quote = text.find('`'); quote != text.npos; quote = text.find('`')) {
    out.append(text.substr(0, quote));
    text.remove_prefix(quote + 1);
    const std::size_t end = text.find('`');
    const std::string shown = end == text.npos ? "" : spelled_quote(text.substr(0, end));
    if (!shown.empty()) text.remove_prefix(end + 1);
    out += shown.empty() ? "`" : shown;
  }
  return out.append(text);
}

void spell_options(const OptionSpelling* spelling) { chosen_spelling = spelling; }

namespace option_values {

void refuse(const Option& option, const std::string& value, const std::string& advice) {
  throw Error(ErrorKind::kUsage,
              "'" + printable(value) + "' is not a valid value for " + opt(option.name), {},
              advice);
}

void refuse_number(const Option& option, const std::string& value) {
  const std::string least = std::to_string(option.least), most = std::to_string(option.most);
  if (option.kind == Option::Kind::kNumbers) refuse(option, value, "give numbers, as in 0.5,1");
  if (option.kind == Option::Kind::kNumber)
    refuse(option, value,
           option.range.text().empty() ? "give a number" : "give a number " + option.range.text());
  refuse(option, value,
         option.most != ~std::uint64_t{0} ? "give a number from " + least + " to " + most
         : option.least > 0               ? "give a number above 0"
                                          : "give a whole number, 0 or larger, in decimal digits");
}

void refuse_choice(const Option& option, const std::string& value) {
  refuse(option, value, choice_advice(value, option.choices()));
}

bool same_word(std::string_view a, std::string_view b) { return lower_case(a) == lower_case(b); }

std::uint64_t bytes_of(const std::string& text, const Option& option) {
  return !option.zero.empty() && text == option.zero ? 0 : parse_byte_size(text);
}

double number_of(const std::string& text, const Option& option) {
  const auto number = parse_number<double>(text);
  if (!number || !option.range.has(*number)) refuse_number(option, text);
  return *number;
}

std::vector<double> numbers_of(const std::string& text, const Option& option) {
  std::vector<double> numbers;
  for (const std::string_view part : split_text(text, ','))
    numbers.push_back(number_of(std::string(part), option));
  return numbers;
}

std::string text_of(double value) { return fmt::format("{}", value); }

bool is_on(const OptionValues& values, const Option& option) {
  const std::string& last = values.back();  // the command line may have several
  if (last != "true" && last != "false") refuse(option, last, "give true or false");
  return last == "true";
}

std::string text_of_bytes(std::uint64_t bytes) {
  constexpr std::uint64_t kMebi = 1u << 20, kGibi = 1u << 30;
  if (bytes == 0 || bytes % kMebi != 0) return std::to_string(bytes);
  return bytes % kGibi == 0 ? std::to_string(bytes / kGibi) + "GiB"
                            : std::to_string(bytes / kMebi) + "MiB";
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text + '\0';
  return all;
}

}  // namespace option_values

}  // namespace packhorse
