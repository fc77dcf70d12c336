#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "packhorse/packing/pack.h"

namespace packhorse {

/// Counts reasons with an example each. Reasons that differ only in their digits are one. One
/// thread.
class Reasons {
 public:
  void add(std::string_view reason, const std::string& path);
  /// The most frequent 10; counts the others in `left_out`. To be called once.
  std::vector<PackPreview::Reason> most_frequent(std::uint64_t& left_out);

 private:
  std::map<std::string, PackPreview::Reason> by_kind_;
};

}  // namespace packhorse
