#include "listing/field_names.h"

#include <algorithm>

#include "base/option.h"
#include "base/printable.h"
#include "listing/listing.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

std::string problem_of(const std::string& name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789._-";
  if (name.empty()) return "it is empty";
  if (name.find_first_not_of(kAllowed) != std::string::npos)
    return "it has characters other than a-z, 0-9, '.', '_' and '-'";
  if (name.front() == '.' || name.back() == '.') return "it begins or ends with a dot";
  if (name == "cls") return "shards store the label under that name";
  if (name.find('.') == std::string::npos && naming::has_image_name("x." + name))
    return "readers would take it for the image; a second image needs a name like mask." + name;
  return {};
}

}  // namespace

std::vector<std::string> sorted_fields(std::vector<std::string> names,
                                       const std::filesystem::path& where) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() > kMaxFields) {
    throw Error(ErrorKind::kUsage,
                "there are " + std::to_string(names.size()) + " extra fields, but at most " +
                    std::to_string(kMaxFields) + " can be packed",
                where, "choose some with `fields=`");
  }
  return names;
}

std::vector<std::string> checked_fields(std::vector<std::string> names,
                                        const std::filesystem::path& where) {
  names = sorted_fields(std::move(names), where);
  for (const std::string& name : names) {
    if (const std::string problem = problem_of(name); !problem.empty()) {
      throw Error(ErrorKind::kUsage,
                  "'" + printable(name) + "' cannot be the name of an extra field: " + problem,
                  where, "rename it, or choose the others with `fields=`");
    }
  }
  return names;
}

KeyDot parse_key_dot(const std::string& text) {
  if (text == "first") return KeyDot::kFirst;
  if (text == "last") return KeyDot::kLast;
  throw Error(ErrorKind::kUsage, "`key_dot=`: '" + printable(text) + "' is neither first nor last",
              {}, "give `key_dot=first` or `key_dot=last`");
}

FieldChoice FieldChoice::parse(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; text != "none" && at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string name = text.substr(at, comma - at);
    const bool fit =
        !name.empty() && name.front() != '.' &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-") == std::string::npos;
    if (!fit) {
      throw Error(
          ErrorKind::kUsage, "'" + name + "' is not a valid field name", {},
          "give what follows the dot in its files, in lower case: json,txt,seg.png; or none");
    }
    names.push_back(name);
    at = comma + 1;
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return {std::move(names)};
}

std::string field_file(std::string_view image, std::string_view field) {
  const std::size_t name = image.rfind('/') + 1;  // npos + 1 = 0
  const std::size_t dot = image.rfind('.');
  const bool extension = dot != std::string_view::npos && dot > name;
  return std::string(extension ? image.substr(0, dot) : image).append(1, '.').append(field);
}

bool is_field_file(std::string_view name, const std::vector<std::string>& fields) {
  return std::ranges::any_of(fields, [&](const std::string& field) {
    return name.size() > field.size() + 1 && name.ends_with(field) &&
           name[name.size() - field.size() - 1] == '.';
  });
}

std::vector<std::string> wanted_fields(const std::vector<std::string>& wanted,
                                       const std::vector<std::string>& there,
                                       const std::filesystem::path& where) {
  for (const std::string& name : wanted) {
    if (std::ranges::find(there, name) != there.end()) continue;
    std::string names;
    for (const std::string& other : there) names += (names.empty() ? "" : ", ") + printable(other);
    throw Error(ErrorKind::kUsage, "the source has no extra field '" + printable(name) + "'", where,
                (names.empty() ? "leave out `fields=`: no image has a field beside it"
                               : "choose from its fields: " + names) +
                    "; if the files are in another folder, give " +
                    opt("field_from", name + "=FOLDER"));
  }
  return sorted_fields(wanted, where);
}

}  // namespace packhorse
