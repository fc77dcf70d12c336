#include "annotations/json_values.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "base/json.h"
#include "base/json_slices.h"
#include "base/printable.h"
#include "dataset/url.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

[[noreturn]] void refuse_value(const char* name, const char* what) {
  throw Error(ErrorKind::kCorrupt, std::string("its ") + name + " is " + what);
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Takes the number at the front of `text`, rounded as strtod() does. A valid text holds none that
/// is too large, so one out of range is too small.
double take_number(std::string_view& text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view number(text.data(), static_cast<std::size_t>(end - text.data()));
  text.remove_prefix(number.size());
  if (number == "-0") return 0;  // a whole number has no sign of zero
  if (code == std::errc::result_out_of_range) return number.starts_with('-') ? -0.0 : 0.0;
  return value;
}

void skip_blanks(std::string_view& text) {
  while (text.starts_with(' ') || text.starts_with('\n') || text.starts_with('\r') ||
         text.starts_with('\t'))
    text.remove_prefix(1);
}

/// Whether a text in it may hold a secret: those have such characters, plain or escaped.
bool may_have_secret(std::string_view json) {
  return std::ranges::any_of(json, [](char c) {
    return c == '?' || c == '&' || c == ';' || c == '#' || c == '@' || c == '\\';
  });
}

void refuse_secrets_in(const ExactJson& value, const std::string& name) {
  if (value.is_string() && has_secret(value.get_ref<const std::string&>()))
    throw Error(ErrorKind::kCorrupt, "its " + name +
                                         " holds a secret, which would be published: '" +
                                         printable(value.get_ref<const std::string&>()) + "'");
  if (value.is_array())
    for (const ExactJson& inner : value) refuse_secrets_in(inner, name);
  if (value.is_object())
    for (const auto& [member, inner] : value.items())
      if (member != "file_name" && member != "counts") refuse_secrets_in(inner, member);
}

}  // namespace

std::string_view find_value(std::string_view object, std::string_view name) {
  if (!object.starts_with('{')) throw Error(ErrorKind::kCorrupt, "it is not a JSON object");
  const std::string_view value = json_member(object, name);
  return value == "null" ? std::string_view() : value;
}

std::string_view value_of(std::string_view object, const char* name) {
  if (const std::string_view value = find_value(object, name); !value.empty()) return value;
  throw Error(ErrorKind::kCorrupt, std::string("it has no ") + name);
}

std::string text_of(std::string_view object, const char* name) {
  const std::string_view value = value_of(object, name);
  if (!value.starts_with('"')) refuse_value(name, "not a text");
  return json_characters(value);
}

std::vector<std::string_view> list_of(std::string_view value, const char* name) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 28;
  if (!value.starts_with('[')) refuse_value(name, "not a list");
  if (value.size() > kMostBytes) refuse_value(name, "larger than 256 MiB");
  std::vector<std::string_view> elements;
  for_each_element(value, [&](std::string_view element) { elements.push_back(element); });
  return elements;
}

bool is_number(std::string_view value) {
  return value.starts_with('-') || is_digits(value.substr(0, 1));
}

double number_of(std::string_view value, const char* name) {
  if (!is_number(value)) refuse_value(name, "not a number");
  return take_number(value);
}

std::vector<double> numbers_of(std::string_view list, const char* name) {
  if (!list.starts_with('[')) refuse_value(name, "not a list");
  std::vector<double> numbers;
  for (list.remove_prefix(1), skip_blanks(list); !list.starts_with(']'); skip_blanks(list)) {
    if (!is_number(list)) refuse_value(name, "not a list of numbers");
    numbers.push_back(take_number(list));
    skip_blanks(list);
    if (list.starts_with(',')) list.remove_prefix(1);
  }
  return numbers;
}

std::uint32_t whole_of(std::string_view value, const char* name) {
  const double number = number_of(value, name);
  if (!(number >= 0 && number <= std::numeric_limits<std::uint32_t>::max()) ||
      number != std::floor(number))
    refuse_value(name, "not a whole number, or too large a one");
  return static_cast<std::uint32_t>(number);
}

std::vector<std::uint32_t> wholes_of(std::string_view list, const char* name) {
  std::vector<std::uint32_t> numbers;
  for (const std::string_view value : list_of(list, name)) numbers.push_back(whole_of(value, name));
  return numbers;
}

std::string file_name_of(std::string_view image) {
  std::string name = text_of(image, "file_name");
  if (name.find("://") == std::string::npos && !name.starts_with("data:")) return name;
  throw Error(ErrorKind::kCorrupt,
              "its file_name is the address of a file, not its path: " +
                  (name.starts_with("data:") ? std::string("data:...") : harmless_url(name)));
}

void refuse_secrets(std::string_view json) {
  if (may_have_secret(json)) refuse_secrets_in(parse_json(json), "text");
}

std::string id_of(std::string_view json) {
  if (is_digits(json)) return std::string(json);
  if (json.starts_with('"')) return '"' + json_characters(json) + '"';
  const ExactJson id = parse_json(json);
  if (!id.is_number()) throw Error(ErrorKind::kCorrupt, "its id is neither a number nor a text");
  constexpr double kExact = 1ull << 53;  // whole numbers up to here are exact
  if (const double number = id.get<double>();
      id.is_number_float() && number == std::floor(number) && std::abs(number) <= kExact)
    return std::to_string(static_cast<std::int64_t>(number));
  return id.dump();
}

}  // namespace packhorse
