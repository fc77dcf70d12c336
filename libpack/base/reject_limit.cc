#include "packhorse/base/reject_limit.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "base/byte_size.h"
#include "base/text.h"
#include "packhorse/base/error.h"

namespace packhorse {

std::uint64_t RejectLimit::allowed(std::uint64_t seen) const {
  return percent
             ? static_cast<std::uint64_t>(std::floor(*percent / 100 * static_cast<double>(seen)))
             : count;
}

RejectLimit RejectLimit::parse(const std::string& text) {
  RejectLimit limit;
  if (text.ends_with('%')) {
    limit.percent = parse_decimal(std::string_view(text).substr(0, text.size() - 1));
    if (limit.percent && *limit.percent <= 100) return limit;
  } else if (const auto count = parse_number<std::uint64_t>(text)) {
    limit.count = *count;
    return limit;
  }
  throw Error(ErrorKind::kUsage, "'" + text + "' is not a valid limit for rejects", {},
              "give a number, or a percentage such as 0.5%");
}

std::string RejectLimit::text() const {
  return percent ? fmt::format("{}%", *percent) : std::to_string(count);
}

}  // namespace packhorse
