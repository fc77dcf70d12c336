#include "labels/unicode.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

namespace packhorse {

std::string case_folded(std::string_view text) {
  utf8proc_uint8_t* folded = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
      static_cast<utf8proc_ssize_t>(text.size()), &folded,
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT |
                                     UTF8PROC_CASEFOLD | UTF8PROC_IGNORE | UTF8PROC_LUMP));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(folded, &std::free);
  std::string_view seen = text;
  if (size >= 0) seen = {reinterpret_cast<const char*>(folded), static_cast<std::size_t>(size)};
  const std::size_t first = seen.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return std::string(seen.substr(first, seen.find_last_not_of(' ') - first + 1));
}

}  // namespace packhorse
