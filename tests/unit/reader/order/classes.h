#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

/// Samples of 10 bytes, `sizes[c]` of them of class c, one class after the other.
class OfClasses : public MemoryDataset {
 public:
  explicit OfClasses(std::vector<std::uint64_t> sizes) : MemoryDataset({}) {
    for (std::size_t c = 0; c < sizes.size(); ++c) {
      names_.push_back("class " + std::to_string(c));
      labels_.insert(labels_.end(), sizes[c], static_cast<std::int64_t>(c));
    }
    contents().resize(labels_.size(), File(10));
  }
  const std::vector<std::string>& classes() const override { return names_; }
  std::int64_t label(std::size_t i) const override { return labels_[i]; }
  std::string id() const override { return "made " + std::to_string(size()); }

 private:
  std::vector<std::string> names_;
  std::vector<std::int64_t> labels_;
};

}  // namespace packhorse::reader::test
