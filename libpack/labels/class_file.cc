#include "packhorse/labels/class_file.h"

#include "base/byte_order_mark.h"
#include "labels/label_names.h"
#include "labels/text_file.h"
#include "packhorse/dataset/class_list.h"

namespace packhorse {

std::vector<std::string> read_class_file(const std::filesystem::path& path) {
  const UniqueFd fd = open_text(path);
  std::string text(file_size(fd.get(), path), '\0');
  read_exactly(fd.get(), 0, std::as_writable_bytes(std::span(text)), path);
  std::vector<std::string> classes = parse_class_list(without_byte_order_mark(text), path);
  std::uint64_t line = 0;
  for (const std::string& name : classes) check_class_name(name, {&path, ++line});
  return classes;
}

}  // namespace packhorse
