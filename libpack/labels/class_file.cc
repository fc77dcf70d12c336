
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>

#include "base/printable.h"
#include "base/text.h"
#include "dataset/class_list.h"
#include "labels/label_names.h"
#include "labels/text_file.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

using Names = std::vector<std::string>;

constexpr std::array<std::string_view, 9> kHeaders = {
    "name", "names", "class", "classes", "class_name", "classname", "label", "labels", "category"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A line that is a number and a name, in either order.
struct Numbered {
  std::int64_t number = 0;
  std::string name;
  bool cells = false;  ///< they are separated by more than blanks
};

/// "0 cat", "1: cat", "2,cat"; not "3d", and not "1,2-dichloroethane".
std::optional<Numbered> number_in_front(std::string_view line) {
  Numbered found;
  const std::size_t end = line.find_first_not_of("0123456789");
  const std::size_t name = line.find_first_not_of(" \t,;:.)", std::min(end, line.size()));
  if (name == std::string_view::npos || name == end || is_digit(line[name]) ||
      std::from_chars(line.data(), line.data() + end, found.number).ec != std::errc())
    return std::nullopt;
  found.name = line.substr(name);
  found.cells = line.substr(end, name - end).find_first_of(",;:\t") != std::string_view::npos;
  return found;
}

/// "cat 0", "cat,0".
std::optional<Numbered> number_behind(std::string_view line) {
  Numbered found;
  const std::size_t begin = line.find_last_not_of("0123456789") + 1;
  const std::size_t name = line.find_last_not_of(" \t,;:=", begin - 1) + 1;
  if (begin == 0 || name == 0 || name == begin || is_digit(line[name - 1]) ||
      std::from_chars(line.data() + begin, line.data() + line.size(), found.number).ec !=
          std::errc())
    return std::nullopt;
  found.name = line.substr(0, name);
  return found;
}

/// Whether the numbers in the lines from `first` on count them, be it with gaps. Names that are the
/// same but for their numbers ("1 euro", "2 euro") are names.
template <class Number>
bool are_numbered(const Names& lines, std::size_t first, const Number& number_in) {
  std::set<std::string> names;
  std::int64_t before = -1;
  for (std::size_t i = first; i < lines.size(); ++i) {
    const std::optional<Numbered> found = number_in(lines[i]);
    if (!found || found->number <= before || !names.insert(found->name).second) return false;
    const bool counts = found->number <= 1 && (first == 0 || lines.size() > 2);
    if (i == first && !counts && !found->cells) return false;
    before = found->number;
  }
  return first < lines.size();
}

bool is_in(char quote, std::string_view line) {
  return line.size() > 1 && line.front() == quote && line.back() == quote;
}

bool is_markup(std::string_view line) {
  const auto begins = [&](const char* text) { return line.starts_with(text); };
  const auto has = [&](const char* text) { return line.find(text) != std::string_view::npos; };
  return begins("- ") || begins("---") || begins("[\"") || begins("['") || begins("{\"") ||
         begins("{'") || has(": [") || has(": {") || has("</") || line.ends_with(':') ||
         line.ends_with(',') || line == "[" || line == "{" ||
         (begins("[") && has(",") && line.ends_with(']'));
}

/// Throws for lines that are more than names: as names, they would shift or spoil all labels.
void refuse_other_shapes(const Names& lines, const std::filesystem::path& path) {
  const auto refuse = [&](std::size_t line, const std::string& what) {
    throw Error(ErrorKind::kUsage,
                "line " + std::to_string(line + 1) + " of the class list, '" +
                    printable(lines[line]) + "', " + what,
                path, "write one name a line, and nothing else");
  };
  const auto comment = [](const std::string& line) { return line.starts_with('#'); };
  const bool hashes = std::ranges::all_of(lines, comment);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (comment(lines[i]) && (!hashes || lines[i].starts_with("# "))) refuse(i, "is a comment");
    if (is_in('"', lines[i]) || is_in('\'', lines[i])) refuse(i, "is in quotes");
    if (is_markup(lines[i])) refuse(i, "looks like YAML, JSON or another notation");
  }
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
    if (are_numbered(lines, first, number_in_front))
      refuse(first, "has a number in front of its name, as all others have");
    if (lines.size() > first + 1 && are_numbered(lines, first, number_behind))
      refuse(first, "has a number behind its name, as all others have");
  }
  if (lines.size() > 1 && std::ranges::find(kHeaders, lower_case(lines[0])) != kHeaders.end())
    refuse(0, "looks like a header: if it is a class, it cannot be the first");
}

}  // namespace

std::vector<std::string> read_class_file(const std::filesystem::path& path) {
  const UniqueFd fd = open_text(path);
  std::string text(file_size(fd.get(), path), '\0');
  read_exactly(fd.get(), 0, std::as_writable_bytes(std::span(text)), path);
  std::string lines;
  for (std::string_view rest = without_byte_order_mark(text); !rest.empty();) {
    lines.append(trimmed(take_part(rest, '\n'))).append("\n");
  }
  std::vector<std::string> classes = parse_class_list(lines, path);
  refuse_other_shapes(classes, path);
  std::uint64_t line = 0;
  for (const std::string& name : classes) check_class_name(name, {&path, ++line});
  return classes;
}

}  // namespace packhorse
