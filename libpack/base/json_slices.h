#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace packhorse {

/// Find the values in a JSON text where they lie, without building anything: for files larger than
/// a parsed tree of them may be, and for values whose text must not change. The text must be valid:
/// see check_json(). Views are into it, without blanks around them.

/// Throws Error(kCorrupt), without a path, when `text` is not valid JSON.
void check_json(std::string_view text);
/// Calls `visit(name, value)` for each member of an object, in their order, until it returns false.
/// Names come as they are written, with quotes: see json_characters().
void for_each_member(std::string_view object,
                     const std::function<bool(std::string_view, std::string_view)>& visit);
/// Calls `visit(value)` for each element of an array, in their order.
void for_each_element(std::string_view array, const std::function<void(std::string_view)>& visit);
/// The member of an object by its name; the last of several, as JSON parsers have it; empty where
/// there is none, or no object.
std::string_view json_member(std::string_view object, std::string_view name);
/// The characters of a string, which comes with its quotes.
std::string json_characters(std::string_view string);

}  // namespace packhorse
