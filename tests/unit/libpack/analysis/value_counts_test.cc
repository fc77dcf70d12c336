#include "packhorse/analysis/value_counts.h"

#include <algorithm>
#include <limits>

#include "support/support.h"

namespace packhorse {

namespace {

ValueCounts counts_of(const std::vector<std::uint64_t>& values) {
  ValueCounts counts;
  for (const std::uint64_t value : values) counts.add(value);
  return counts;
}

/// Checks that bars are adjacent, cover the values from the least to the largest, and count right.
void check_bins(const std::vector<std::uint64_t>& values, std::size_t wanted) {
  const std::vector<Bin> bins = counts_of(values).bins(wanted);
  REQUIRE(!bins.empty());
  CHECK(bins.size() <= wanted + 4);
  CHECK(bins.front().begin == *std::min_element(values.begin(), values.end()));
  CHECK(bins.back().end - 1 == *std::max_element(values.begin(), values.end()));
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (i > 0) CHECK(bins[i].begin == bins[i - 1].end);
    CHECK(bins[i].begin < bins[i].end);
    const auto in_bin = [&](std::uint64_t v) { return v >= bins[i].begin && v < bins[i].end; };
    CHECK(bins[i].count ==
          static_cast<std::uint64_t>(std::count_if(values.begin(), values.end(), in_bin)));
  }
}

}  // namespace

TEST_CASE("value counts: without values there is nothing to show") {
  const ValueCounts none;
  CHECK(none.size() == 0);
  CHECK(none.median() == 0);
  CHECK(none.bins(8).empty());
}

TEST_CASE("value counts: small values are exact") {
  const ValueCounts counts = counts_of({500, 375, 333, 2047, 1});
  CHECK(counts.least() == 1);
  CHECK(counts.most() == 2047);
  CHECK(counts.median() == 375);
  CHECK(counts.quantile(0) == 1);
  CHECK(counts.quantile(1) == 2047);
}

TEST_CASE("value counts: large values are right to a five-hundredth, ends exactly") {
  for (std::uint64_t value = 1; value < std::uint64_t{1} << 62; value = value * 7 / 2 + 1) {
    const ValueCounts counts = counts_of({value / 4, value, value, value, value * 2 + 1});
    CHECK(counts.least() == value / 4);
    CHECK(counts.most() == value * 2 + 1);
    CHECK(counts.median() <= value);
    CHECK(counts.median() >= value - value / 512);
  }
  const std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
  CHECK(counts_of({max, max}).median() == max);
}

TEST_CASE("value counts: equal values are one bar") {
  CHECK(counts_of({32, 32, 32}).bins(8) == std::vector<Bin>{{32, 33, 3}});
  CHECK(counts_of({0}).bins(8) == std::vector<Bin>{{0, 1, 1}});
}

TEST_CASE("value counts: bars are of equal width, and outliers have their own") {
  std::vector<std::uint64_t> sides;
  for (std::uint64_t i = 0; i < 1000; ++i) sides.push_back(300 + i % 200);
  sides.insert(sides.end(), {20, 4000});
  const std::vector<Bin> bins = counts_of(sides).bins(8);
  CHECK(bins.front().begin == 20);
  CHECK(bins.front().count == 1);
  CHECK(bins.back().end == 4001);
  CHECK(bins.back().count == 1);
  for (std::size_t i = 1; i + 1 < bins.size(); ++i) CHECK(bins[i].end - bins[i].begin == 32);
}

TEST_CASE("value counts: bars count exactly, whatever the values") {
  std::vector<std::uint64_t> small, large, spread, close;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const std::uint64_t random = i * 0x9e3779b97f4a7c15u;
    small.push_back(random >> 56);
    large.push_back((random >> 44) + 7'000'000);
    spread.push_back(random >> (i % 60));
    close.push_back(5001 + i % 3);
  }
  for (const std::size_t wanted : {1u, 5u, 8u, 20u}) {
    CAPTURE(wanted);
    check_bins(small, wanted);
    check_bins(spread, wanted);
    for (const auto* values : {&large, &close}) {
      const std::vector<Bin> bins = counts_of(*values).bins(wanted);
      std::uint64_t sum = 0;
      for (const Bin& bin : bins) sum += bin.count;
      CHECK(sum == values->size());
    }
    check_bins(large, wanted);
  }
}

}  // namespace packhorse
