#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "listing/listing.h"
#include "packhorse/packing/pack.h"

namespace packhorse {

/// Counts reasons with an example each. Those of one code that differ only in their digits are one.
/// One thread.
class Reasons {
 public:
  void add(const Reject& reject) { add(reject.code, reject.reason, reject.path); }
  void add(const Skip& skip) { add(Reason::kNone, skip.rule, skip.path); }
  /// The most frequent 10; counts the others in `left_out`. To be called once.
  std::vector<PackPreview::Reason> most_frequent(std::uint64_t& left_out);

 private:
  void add(Reason code, std::string_view words, const std::string& path);
  std::map<std::pair<Reason, std::string>, PackPreview::Reason> by_kind_;
};

}  // namespace packhorse
