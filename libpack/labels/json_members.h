#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace packhorse {

struct JsonMember {
  std::string name;
  std::string text;  ///< a string's characters; any other value as it is written, to the last digit
  enum class Type { kString, kNull, kOther } type = Type::kOther;
};

/// Finds the members of the JSON object in `line`, in their order. Returns why it is none, or "".
/// Values are not parsed and written again, since that would round numbers.
std::string json_members(std::string_view line, std::vector<JsonMember>& members);

}  // namespace packhorse
