#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace packhorse {

/// Parses a number of bytes: "256MiB", "1.5GB", "4096". Throws Error(kUsage).
std::uint64_t parse_byte_size(const std::string& text);

/// Parses a number as people write it: digits, and perhaps a point with digits on both sides.
/// Returns nothing for what a library might also accept: signs, "inf", "nan", "1e3", blanks.
inline std::optional<double> parse_decimal(std::string_view text) {
  const bool plain = !text.empty() && text.front() != '.' && text.back() != '.' &&
                     std::ranges::count(text, '.') <= 1 &&
                     text.find_first_not_of("0123456789.") == std::string_view::npos;
  double value = 0;
  if (!plain || std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
    return std::nullopt;
  return value;
}

}  // namespace packhorse
