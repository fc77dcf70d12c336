#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

/// Values of parsed JSON by the names of their members, with the words of
/// annotations/json_values.h: for what tools write of one image, which is small. All throw
/// Error(kCorrupt), without a path.
namespace packhorse {

/// The member of that name; null where there is none, or where it is null. Throws for no object.
const ExactJson* find_value(const ExactJson& object, const char* name);
/// The same; throws where there is none.
const ExactJson& value_of(const ExactJson& object, const char* name);

std::string text_of(const ExactJson& object, const char* name);
/// The elements of a list, which is called `name`.
const ExactJson::array_t& list_of(const ExactJson& value, const char* name);
/// A number that is called `name`.
double number_of(const ExactJson& value, const char* name);
std::vector<double> numbers_of(const ExactJson& list, const char* name);
/// A whole number from 0 to 2^32 - 1, also one that is written as 40.0.
std::uint32_t whole_of(const ExactJson& value, const char* name);

}  // namespace packhorse
