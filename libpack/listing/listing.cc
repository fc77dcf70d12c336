#include "listing/listing.h"

#include <algorithm>

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

std::vector<std::string> Listing::stored_fields() const {
  std::vector<std::string> names = fields;
  names.insert(names.end(), made_fields.begin(), made_fields.end());
  std::ranges::sort(names);
  return names;
}

}  // namespace packhorse
