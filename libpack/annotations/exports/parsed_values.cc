#include "annotations/exports/parsed_values.h"

#include "annotations/json_values.h"
#include "packhorse/base/error.h"

namespace packhorse {

const ExactJson* find_value(const ExactJson& object, const char* name) {
  if (!object.is_object()) throw Error(ErrorKind::kCorrupt, "it is not a JSON object");
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const ExactJson& value_of(const ExactJson& object, const char* name) {
  if (const ExactJson* const value = find_value(object, name)) return *value;
  throw Error(ErrorKind::kCorrupt, std::string("it has no ") + name);
}

std::string text_of(const ExactJson& object, const char* name) {
  const ExactJson& value = value_of(object, name);
  if (value.is_string()) return value.get<std::string>();
  throw Error(ErrorKind::kCorrupt, std::string("its ") + name + " is not a text");
}

const ExactJson::array_t& list_of(const ExactJson& value, const char* name) {
  if (value.is_array()) return value.get_ref<const ExactJson::array_t&>();
  throw Error(ErrorKind::kCorrupt, std::string("its ") + name + " is not a list");
}

double number_of(const ExactJson& value, const char* name) {
  if (value.is_number()) return value.get<double>();
  throw Error(ErrorKind::kCorrupt, std::string("its ") + name + " is not a number");
}

std::vector<double> numbers_of(const ExactJson& list, const char* name) {
  std::vector<double> numbers;
  for (const ExactJson& value : list_of(list, name)) numbers.push_back(number_of(value, name));
  return numbers;
}

std::uint32_t whole_of(const ExactJson& value, const char* name) {
  return whole_of(std::string_view(value.dump()), name);
}

}  // namespace packhorse
