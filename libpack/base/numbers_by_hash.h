#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/external_sort.h"

namespace packhorse {

/// Finds the numbers that were added with a hash, however many there are: they lie in memory or,
/// beyond that, sorted in a ScratchFile, of which a sample is in memory. One thread adds; after
/// close(), any thread may search.
class NumbersByHash {
 public:
  /// As ExternalSort has them. What is kept takes up to half of `memory`, or a thirty-second byte a
  /// number.
  NumbersByHash(std::uint64_t memory, std::filesystem::path scratch, const std::string& holds);

  void add(std::uint64_t hash, std::uint64_t number) { sort_->add({hash, number}); }
  void close();
  /// Calls visit(number) for those with this hash, in their order, until it returns true; returns
  /// whether it did. Throws Error(kIo).
  bool find(std::uint64_t hash, const std::function<bool(std::uint64_t)>& visit) const;

 private:
  struct Item {
    std::uint64_t hash, number;
    bool operator<(const Item& other) const {
      return std::tie(hash, number) < std::tie(other.hash, other.number);
    }
  };
  static constexpr std::size_t kPage = 256;  // items
  /// A page of the file, read into `buffer`.
  std::span<const Item> page(std::uint64_t number, std::vector<Item>& buffer) const;

  std::unique_ptr<ExternalSort<Item>> sort_;
  std::vector<Item> items_;            ///< all, where they fit
  std::vector<std::uint64_t> firsts_;  ///< otherwise the first hash of each page in the file
  std::uint64_t size_ = 0;
  ScratchFile file_;
};

}  // namespace packhorse
