#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/http/credentials.h"

/// Small things that the sources of credentials share.
namespace packhorse {

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// Without white space at its ends.
inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Whether it is printable ASCII, with or without spaces inside: what may stand in a header.
inline bool is_header_text(std::string_view text, bool spaces) {
  for (const char c : text) {
    if (c < (spaces ? 0x20 : 0x21) || c > 0x7e) return false;
  }
  return true;
}

/// A variable of the environment; an empty one counts as none, as AWS has it.
inline std::optional<std::string> variable_of(const Surroundings& around, const char* name) {
  std::optional<std::string> value = around.variable(name);
  if (value && value->empty()) value.reset();
  return value;
}

}  // namespace packhorse
