#include "annotations/json_values.h"

#include <cmath>
#include <limits>

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

}  // namespace

const ExactJson* find_value(const ExactJson& object, const char* name) {
  if (!object.is_object()) throw Error(ErrorKind::kCorrupt, "it is no JSON object");
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const ExactJson& value_of(const ExactJson& object, const char* name) {
  if (const ExactJson* const value = find_value(object, name)) return *value;
  throw Error(ErrorKind::kCorrupt, std::string("it has no ") + name);
}

std::string text_of(const ExactJson& object, const char* name) {
  const ExactJson& value = value_of(object, name);
  if (!value.is_string()) refuse_value(name, "no text");
  return value.get_ref<const std::string&>();
}

const ExactJson::array_t& list_of(const ExactJson& value, const char* name) {
  if (!value.is_array()) refuse_value(name, "no list");
  return value.get_ref<const ExactJson::array_t&>();
}

double number_of(const ExactJson& value, const char* name) {
  if (!value.is_number()) refuse_value(name, "no number");
  return value.get<double>();
}

std::vector<double> numbers_of(const ExactJson& list, const char* name) {
  std::vector<double> numbers;
  for (const ExactJson& value : list_of(list, name)) {
    if (!value.is_number()) refuse_value(name, "no list of numbers");
    numbers.push_back(value.get<double>());
  }
  return numbers;
}

std::uint32_t whole_of(const ExactJson& value, const char* name) {
  const double number = number_of(value, name);
  if (!(number >= 0 && number <= std::numeric_limits<std::uint32_t>::max()) ||
      number != std::floor(number))
    refuse_value(name, "no whole number, or too large a one");
  return static_cast<std::uint32_t>(number);
}

std::vector<std::uint32_t> wholes_of(const ExactJson& list, const char* name) {
  std::vector<std::uint32_t> numbers;
  for (const ExactJson& value : list_of(list, name)) numbers.push_back(whole_of(value, name));
  return numbers;
}

std::string file_name_of(const ExactJson& image) {
  std::string name = text_of(image, "file_name");
  if (name.find("://") == std::string::npos && !name.starts_with("data:")) return name;
  throw Error(ErrorKind::kCorrupt,
              "its file_name is the address of a file, not its path: " +
                  (name.starts_with("data:") ? std::string("data:...") : harmless_url(name)));
}

void refuse_secrets(const ExactJson& value, const std::string& name) {
  if (value.is_string() && has_secret(value.get_ref<const std::string&>()))
    throw Error(ErrorKind::kCorrupt, "its " + name +
                                         " holds a secret, which would be published: '" +
                                         printable(value.get_ref<const std::string&>()) + "'");
  if (value.is_array())
    for (const ExactJson& inner : value) refuse_secrets(inner, name);
  if (value.is_object())
    for (const auto& [member, inner] : value.items())
      if (member != "file_name" && member != "counts") refuse_secrets(inner, member);
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
