#include "base/byte_size.h"

#include <algorithm>
#include <array>

#include "packhorse/base/error.h"

namespace packhorse {

std::uint64_t parse_byte_size(const std::string& text) {
  static constexpr std::array<std::pair<const char*, std::uint64_t>, 14> kUnits = {{
      {"", 1},
      {"B", 1},
      {"K", 1ull << 10},
      {"KiB", 1ull << 10},
      {"KB", 1000},
      {"M", 1ull << 20},
      {"MiB", 1ull << 20},
      {"MB", 1000'000},
      {"G", 1ull << 30},
      {"GiB", 1ull << 30},
      {"GB", 1000'000'000},
      {"T", 1ull << 40},
      {"TiB", 1ull << 40},
      {"TB", 1000'000'000'000},
  }};
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  for (const auto& [name, factor] : kUnits) {
    if (text.substr(end) != name) continue;
    const auto value = parse_decimal(std::string_view(text).substr(0, end));
    if (!value) continue;
    const double bytes = *value * static_cast<double>(factor);
    if (bytes >= 1 && bytes < 9e18) return static_cast<std::uint64_t>(bytes);
  }
  throw Error(ErrorKind::kUsage, "'" + text + "' is not a valid size", {},
              "give it like 256MiB, 1.5GB or 4096");
}

}  // namespace packhorse
