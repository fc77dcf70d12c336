#include "packhorse/walkers/finding_kind.h"

#include <algorithm>
#include <array>

namespace packhorse {

namespace {

constexpr std::array<std::string_view, 14> kNames = {
    "changed",  "decode",  "description", "extra", "hash",       "index", "limit",
    "manifest", "missing", "payload",     "read",  "relabelled", "size",  "structure"};

}  // namespace

std::string_view name_of(FindingKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::optional<FindingKind> parse_finding_kind(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<FindingKind>(found - kNames.begin());
}

}  // namespace packhorse
