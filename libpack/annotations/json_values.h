#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

/// Values of annotations in JSON, by the names of their members. All throw Error(kCorrupt), without
/// a path, that says in plain words what is missing or of another kind.
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
std::vector<std::uint32_t> wholes_of(const ExactJson& list, const char* name);

/// The "file_name" of an image: the path of a file, not the address of one, which may hold a
/// secret.
std::string file_name_of(const ExactJson& image);

/// Throws where a text in `value`, which is called `name`, holds the secret of an address: what an
/// annotation says is published. A "file_name" is the name of a file, and "counts" are a mask: both
/// may look so.
void refuse_secrets(const ExactJson& value, const std::string& name);

/// An id in one form for all its ways of writing: "12" for 12 and 12.0, in quotes with its
/// characters for a text. `json` is a valid value.
std::string id_of(std::string_view json);

}  // namespace packhorse
