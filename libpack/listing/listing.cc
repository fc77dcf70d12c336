#include "packhorse/listing/listing.h"

namespace packhorse {

std::uint64_t Listing::seen() const {
  std::uint64_t total = skips.size();
  for (const SplitListing& split : splits) {
    total += split.entries.size() + split.rejects.size() + split.skips.size();
  }
  return total;
}

std::map<std::string, std::uint64_t> count_by_rule(const std::vector<Skip>& skips) {
  std::map<std::string, std::uint64_t> counts;
  for (const Skip& skip : skips) ++counts[std::string(skip.rule)];
  return counts;
}

}  // namespace packhorse
