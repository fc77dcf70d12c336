#include "base/external_sort.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "base/permutation.h"
#include "support/support.h"

namespace packhorse {

namespace {

struct Item {
  std::uint64_t value, number;
  bool operator<(const Item& other) const {
    return std::tie(value, number) < std::tie(other.value, other.number);
  }
  bool operator==(const Item&) const = default;
};

std::vector<Item> all_of(ExternalSort<Item>& sort) {
  std::vector<Item> all;
  Item item{};
  for (auto sorted = sort.sorted(); sorted.next(item);) all.push_back(item);
  return all;
}

}  // namespace

TEST_CASE("external sort: in memory and by way of a file, at every boundary") {
  for (const std::uint64_t memory :
       {std::uint64_t{0}, std::uint64_t{4096}, std::uint64_t{1} << 30}) {
    for (const std::uint64_t n : {0u, 1u, 63u, 64u, 65u, 128u, 129u, 20'000u}) {
      CAPTURE(memory);
      CAPTURE(n);
      ExternalSort<Item> sort(memory, {}, "items");
      std::vector<Item> expected;
      for (std::uint64_t i = 0; i < n; ++i) {
        const Item item{mix64(i) % 5000, i};
        sort.add(item);
        expected.push_back(item);
      }
      CHECK(sort.size() == n);
      CHECK(sort.in_file() == (memory == 0 ? n > 64 : memory == 4096 && n > 128));
      std::sort(expected.begin(), expected.end());
      CHECK(all_of(sort) == expected);
    }
  }
}

}  // namespace packhorse
