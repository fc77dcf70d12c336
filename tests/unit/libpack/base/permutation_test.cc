#include "base/permutation.h"

#include <algorithm>
#include <vector>

#include "support/support.h"

namespace packhorse {

namespace {

std::vector<std::uint64_t> elements(std::uint64_t size, std::uint64_t key) {
  const Permutation permutation(size, key);
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < size; ++i) all.push_back(permutation(i));
  return all;
}

}  // namespace

TEST_CASE("permutation: holds every element once, whatever the size") {
  for (const std::uint64_t size :
       {0u, 1u, 2u, 3u, 4u, 5u, 15u, 16u, 17u, 63u, 64u, 65u, 1000u, 65535u, 65536u, 65537u}) {
    for (const std::uint64_t key : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}}) {
      CAPTURE(size);
      CAPTURE(key);
      std::vector<std::uint64_t> all = elements(size, key);
      std::sort(all.begin(), all.end());
      std::uint64_t expected = 0;
      CHECK(std::all_of(all.begin(), all.end(),
                        [&](std::uint64_t value) { return value == expected++; }));
    }
  }
}

TEST_CASE("permutation: never changes, as packed datasets and training orders depend on it") {
  using Elements = std::vector<std::uint64_t>;
  const Elements thousand = elements(1000, 7), odd = elements(65537, 0);
  CHECK(Elements(thousand.begin(), thousand.begin() + 8) ==
        Elements{600, 766, 405, 588, 139, 848, 324, 290});
  CHECK(Elements(odd.begin(), odd.begin() + 8) ==
        Elements{36923, 10509, 42487, 32859, 52846, 58968, 19124, 9318});
}

TEST_CASE("permutation: its inverse leads back") {
  for (const std::uint64_t size : {1u, 2u, 5u, 16u, 17u, 1000u, 65537u}) {
    const Permutation permutation(size, size * 31);
    for (std::uint64_t i = 0; i < size; ++i) REQUIRE(permutation.inverse(permutation(i)) == i);
  }
  const std::uint64_t large = 999'999'999'999;
  const Permutation permutation(large, 3);
  for (std::uint64_t i = 0; i < 100; ++i) {
    CHECK(permutation.inverse(permutation(large - 1 - i)) == large - 1 - i);
    CHECK(permutation(permutation.inverse(i)) == i);
  }
}

TEST_CASE("permutation: differs by key") {
  for (std::uint64_t key = 0; key < 20; ++key)
    CHECK(elements(1000, key) != elements(1000, key + 1));
}

TEST_CASE("permutation: the largest sizes stay inside") {
  const std::uint64_t size = (std::uint64_t{1} << 63) + 1;
  const Permutation permutation(size, 3);
  for (std::uint64_t i = 0; i < 100; ++i) CHECK(permutation(size - 1 - i) < size);
}

TEST_CASE("permutation: over many keys, every element is about equally likely at every place") {
  constexpr std::uint64_t kSize = 10, kKeys = 20000;
  std::vector<std::uint64_t> counts(kSize * kSize);
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    const Permutation permutation(kSize, key);
    for (std::uint64_t i = 0; i < kSize; ++i) ++counts[i * kSize + permutation(i)];
  }
  // 2000 expected, with a standard deviation of 42.
  CHECK(*std::min_element(counts.begin(), counts.end()) > 1750);
  CHECK(*std::max_element(counts.begin(), counts.end()) < 2250);
}

TEST_CASE("permutation: neighbours are torn apart") {
  const std::vector<std::uint64_t> all = elements(10000, 1);
  std::size_t neighbours = 0;
  for (std::size_t i = 1; i < all.size(); ++i) neighbours += all[i] == all[i - 1] + 1 ? 1u : 0u;
  CHECK(neighbours < 10);
}

}  // namespace packhorse
