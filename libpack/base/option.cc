#include "base/option.h"

#include <algorithm>
#include <atomic>

#include "base/ascii.h"
#include "base/byte_size.h"
#include "base/choices.h"
#include "base/option_values.h"
#include "base/printable.h"

namespace packhorse {

namespace {

std::atomic<OptionSpelling> chosen_spelling = nullptr;

constexpr std::string_view kNameLetters = "abcdefghijklmnopqrstuvwxyz_";

}  // namespace

std::string Option::flag() const {
  std::string flag(kind == Kind::kOff ? off : name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::string opt(std::string_view name, std::string_view value) {
  if (const OptionSpelling spelling = chosen_spelling) return spelling(name, value);
  return "`" + std::string(name) + "=" + std::string(value) + "`";
}

std::string spelled(std::string_view text) {
  std::string out;
  for (std::size_t quote = text.find('`'); quote != text.npos; quote = text.find('`')) {
    out.append(text.substr(0, quote));
    text.remove_prefix(quote + 1);
    const std::size_t equals = text.find_first_not_of(kNameLetters), end = text.find('`');
    if (end != text.npos && equals > 0 && equals < end && text[equals] == '=') {
      out += opt(text.substr(0, equals), text.substr(equals + 1, end - equals - 1));
      text.remove_prefix(end + 1);
    } else {
      out += '`';
    }
  }
  return out.append(text);
}

void spell_options(OptionSpelling spelling) { chosen_spelling = spelling; }

namespace option_values {

void refuse(const Option& option, const std::string& value, const std::string& advice) {
  throw Error(ErrorKind::kUsage,
              "'" + printable(value) + "' is not a valid value for " + opt(option.name), {},
              advice);
}

void refuse_number(const Option& option, const std::string& value) {
  const std::string least = std::to_string(option.least), most = std::to_string(option.most);
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
