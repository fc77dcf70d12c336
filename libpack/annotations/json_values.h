#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Values of annotations in valid JSON, read where they lie (json_slices.h), by the names of their
/// members. All throw Error(kCorrupt), without a path, that says in plain words what is missing or
/// of another kind.
namespace packhorse {

/// The member of that name; empty where there is none, or where it is null. Throws for no object.
std::string_view find_value(std::string_view object, std::string_view name);
/// The same; throws where there is none.
std::string_view value_of(std::string_view object, const char* name);

std::string text_of(std::string_view object, const char* name);
/// The elements of a list, which is called `name`.
std::vector<std::string_view> list_of(std::string_view value, const char* name);
bool is_number(std::string_view value);
/// A number that is called `name`.
double number_of(std::string_view value, const char* name);
std::vector<double> numbers_of(std::string_view list, const char* name);
/// A whole number from 0 to 2^32 - 1, also one that is written as 40.0.
std::uint32_t whole_of(std::string_view value, const char* name);
std::vector<std::uint32_t> wholes_of(std::string_view list, const char* name);

/// The "file_name" of an image: the path of a file, not the address of one, which may hold a
/// secret.
std::string file_name_of(std::string_view image);

/// Throws where a text in `json` holds the secret of an address: what an annotation says is
/// published. A "file_name" is the name of a file, and "counts" are a mask: both may look so.
void refuse_secrets(std::string_view json);

/// An id in one form for all its ways of writing: "12" for 12 and 12.0, in quotes with its
/// characters for a text. `json` is a valid value.
std::string id_of(std::string_view json);

}  // namespace packhorse
