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
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(folded, &std::free);
  if (size < 0) return std::string(text);
  return {reinterpret_cast<const char*>(folded), static_cast<std::size_t>(size)};
}

}  // namespace packhorse
