#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace packhorse {

/// The number in a `.cls` member: ASCII decimal and nothing else; nothing for any other text.
inline std::optional<std::int64_t> parse_label(std::string_view text) {
  std::int64_t label = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), label);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return label;
}

}  // namespace packhorse
