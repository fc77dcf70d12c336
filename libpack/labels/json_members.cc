#include "labels/json_members.h"

#include "base/json_slices.h"
#include "packhorse/base/json.h"

namespace packhorse {

std::string json_members(std::string_view line, std::vector<JsonMember>& members) {
  members.clear();
  // Reads names and values in place, and builds nothing that could be nested.
  if (!nlohmann::json::accept(line)) return "no JSON";
  if (!line.substr(line.find_first_not_of(" \t\r\n")).starts_with('{')) return "no JSON object";
  bool too_many = false;
  for_each_member(line, [&](std::string_view name, std::string_view text) {
    too_many = members.size() == JsonLimits{}.members;
    if (too_many) return false;
    JsonMember& member = members.emplace_back();
    member.name = json_characters(name);
    if (text.starts_with('"')) {
      member.text = json_characters(text);
      member.type = JsonMember::Type::kString;
    } else {
      member.text = text;
      if (text == "null") member.type = JsonMember::Type::kNull;
    }
    return true;
  });
  if (too_many) return "more than " + std::to_string(members.size()) + " members";
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (members[k].name == members[i].name) return "names '" + members[i].name + "' twice";
    }
  }
  return {};
}

}  // namespace packhorse
