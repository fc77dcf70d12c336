#include "dataset/class_list.h"

#include <set>

#include "base/file.h"
#include "base/text.h"
#include "packhorse/base/error.h"

namespace packhorse {

std::vector<std::string> read_class_list(const std::filesystem::path& path) {
  return parse_class_list(without_byte_order_mark(read_text(path)), path);
}

std::vector<std::string> parse_class_list(std::string_view text,
                                          const std::filesystem::path& path) {
  std::vector<std::string> classes;
  std::set<std::string> known;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) end = text.size();
    std::string name(text.substr(begin, end - begin));
    if (name.ends_with('\r')) name.pop_back();
    const std::string line = "line " + std::to_string(classes.size() + 1);
    if (name.empty())
      throw Error(ErrorKind::kUsage, "the class list has an empty name in " + line, path);
    if (!known.insert(name).second) {
      throw Error(ErrorKind::kUsage, "the class list names '" + name + "' a second time in " + line,
                  path);
    }
    classes.push_back(std::move(name));
    begin = end + 1;
  }
  if (classes.empty()) throw Error(ErrorKind::kUsage, "the class list is empty", path);
  return classes;
}

std::string class_list_text(const std::vector<std::string>& classes) {
  std::string text;
  for (const std::string& name : classes) {
    if (name.find_first_of("\r\n") != std::string::npos) {
      throw Error(ErrorKind::kUsage,
                  "a class name contains a line break, which a class list cannot hold", name,
                  "rename that folder");
    }
    text += name + '\n';
  }
  return text;
}

}  // namespace packhorse
