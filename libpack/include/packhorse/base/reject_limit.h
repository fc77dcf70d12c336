#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace packhorse {

/// How many inputs may be rejected before nothing is published.
struct RejectLimit {
  std::uint64_t count = 0;
  std::optional<double> percent;  ///< of the inputs seen; replaces `count`
  std::uint64_t allowed(std::uint64_t seen) const;
  /// "0", "12" or "0.5%". Throws Error(kUsage).
  static RejectLimit parse(const std::string& text);
  std::string text() const;
};

}  // namespace packhorse
