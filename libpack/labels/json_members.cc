#include "labels/json_members.h"

#include "packhorse/base/json.h"

namespace packhorse {

namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::size_t skip_space(std::string_view text, std::size_t at) {
  const std::size_t found = text.find_first_not_of(kSpace, at);
  return found == std::string_view::npos ? text.size() : found;
}

/// Where the value that begins at `at` ends, in text that is known to be JSON.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  int depth = 0;
  for (bool quoted = false; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (depth == 0 && (c == ',' || c == '}' || c == ':')) {
      break;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return at;
}

/// The characters of a valid JSON string, which comes with its quotes.
std::string characters(std::string_view text) {
  if (text.find('\\') == std::string_view::npos)
    return std::string(text.substr(1, text.size() - 2));
  return parse_json(text).get<std::string>();
}

std::string_view without_space_behind(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

}  // namespace

std::string json_members(std::string_view line, std::vector<JsonMember>& members) {
  members.clear();
  // Reads names and values in place, and builds nothing that could be nested.
  if (!nlohmann::json::accept(line)) return "no JSON";
  std::size_t at = skip_space(line, 0);
  if (line[at] != '{') return "no JSON object";
  for (at = skip_space(line, at + 1); line[at] != '}';) {
    if (members.size() == JsonLimits{}.members)
      return "more than " + std::to_string(members.size()) + " members";
    const std::size_t colon = end_of_value(line, at);
    const std::size_t value = skip_space(line, colon + 1);
    const std::size_t end = end_of_value(line, value);
    JsonMember& member = members.emplace_back();
    const std::string_view text = without_space_behind(line.substr(value, end - value));
    member.name = characters(without_space_behind(line.substr(at, colon - at)));
    if (text.starts_with('"')) {
      member.text = characters(text);
      member.type = JsonMember::Type::kString;
    } else {
      member.text = text;
      if (text == "null") member.type = JsonMember::Type::kNull;
    }
    at = skip_space(line, end + (line[end] == ',' ? 1 : 0));
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (members[k].name == members[i].name) return "names '" + members[i].name + "' twice";
    }
  }
  return {};
}

}  // namespace packhorse
