#include "base/numbers_by_hash.h"

#include <vector>

#include "base/permutation.h"
#include "support/support.h"

namespace packhorse {

namespace {

std::vector<std::uint64_t> found(const NumbersByHash& numbers, std::uint64_t hash) {
  std::vector<std::uint64_t> all;
  CHECK_FALSE(numbers.find(hash, [&](std::uint64_t number) {
    all.push_back(number);
    return false;
  }));
  return all;
}

}  // namespace

TEST_CASE("numbers by hash: all are found, in memory and in a file, also where many share a hash") {
  for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{1} << 30}) {
    CAPTURE(memory);
    NumbersByHash numbers(memory, {}, "numbers");
    std::vector<std::vector<std::uint64_t>> expected(1000);
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      // One hash fills several pages.
      const std::uint64_t value = i % 10 == 0 ? 500 : mix64(i) % 1000;
      numbers.add(2 * value + 1, i);
      expected[value].push_back(i);
    }
    numbers.close();
    for (std::uint64_t value = 0; value < 1000; ++value) {
      CHECK(found(numbers, 2 * value + 1) == expected[value]);
      CHECK(found(numbers, 2 * value).empty());
    }
    CHECK(found(numbers, ~std::uint64_t{0}).empty());
    std::uint64_t visited = 0;
    CHECK(numbers.find(1001, [&](std::uint64_t) { return ++visited == 3; }));
    CHECK(visited == 3);
  }
}

TEST_CASE("numbers by hash: none") {
  NumbersByHash numbers(0, {}, "numbers");
  numbers.close();
  CHECK(found(numbers, 0).empty());
}

}  // namespace packhorse
