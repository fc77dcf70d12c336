#include "packing/plan.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string>

#include "support/support.h"

namespace packhorse {

namespace {

EntryTable table(const std::vector<std::uint64_t>& sizes) {
  EntryTable entries;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    entries.add("c", std::to_string(i), {.size = sizes[i]});
  return entries;
}

/// 1000 entries of 1 to 1000 bytes, 500,500 in all.
EntryTable thousand() {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t i = 0; i < 1000; ++i) sizes.push_back(1 + i * 7 % 1000);
  return table(sizes);
}

std::vector<std::size_t> order(const Plan& plan) {
  std::vector<std::size_t> all;
  for (std::size_t p = 0; p < plan.size(); ++p) all.push_back(plan.entry(p));
  return all;
}

std::vector<std::size_t> shard_sizes(const Plan& plan) {
  std::vector<std::size_t> sizes;
  for (std::size_t s = 0; s < plan.shards(); ++s)
    sizes.push_back(plan.shard_begin(s + 1) - plan.shard_begin(s));
  return sizes;
}

using Sizes = std::vector<std::size_t>;

}  // namespace

TEST_CASE("plan: every entry is in it once") {
  for (const bool shuffle : {false, true}) {
    PlanOptions options;
    options.shuffle = shuffle;
    options.shard_bytes = 10000;
    const Plan plan(thousand(), options);
    const std::vector<std::size_t> all = order(plan);
    CHECK(std::set<std::size_t>(all.begin(), all.end()).size() == 1000);
    CHECK(plan.shard_begin(0) == 0);
    CHECK(plan.shard_begin(plan.shards()) == 1000);
    for (const std::size_t size : shard_sizes(plan)) CHECK(size > 0);
  }
}

TEST_CASE("plan: three billion samples, whose keys sort like their places") {
  constexpr std::uint64_t kSamples = 3'000'000'000, kInShard = 27'273;
  const auto never = [](std::size_t) -> std::uint64_t { throw std::logic_error("not needed"); };
  const Plan plan(kSamples, never, {.shard_samples = kInShard});
  CHECK(plan.size() == kSamples);
  CHECK(plan.shards() == 109'999);
  CHECK(plan.shard_begin(109'998) == std::uint64_t{109'998} * kInShard);
  CHECK(plan.shard_begin(109'999) == kSamples);
  std::set<std::size_t> entries;
  std::string before;
  const int digits = key_digits(kSamples);
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const std::uint64_t place = i * 29'999 + i % 7;
    CHECK(plan.entry(place) < kSamples);
    entries.insert(plan.entry(place));
    const std::string key = key_of(place, digits);
    CHECK(key.size() == 10);
    CHECK(before < key);
    before = key;
  }
  CHECK(entries.size() == 100'000);
  CHECK(key_digits(0) == 9);
  CHECK(key_digits(1'000'000'000) == 9);
  CHECK(key_digits(1'000'000'001) == 10);
}

TEST_CASE("plan: without shuffling it is the listing's order") {
  PlanOptions options;
  options.shuffle = false;
  const std::vector<std::size_t> all = order(Plan(thousand(), options));
  CHECK(std::is_sorted(all.begin(), all.end()));
}

TEST_CASE("plan: the same entries and options give the same plan, another seed another") {
  PlanOptions options;
  options.seed = 5;
  options.shard_bytes = 10000;
  const Plan first(thousand(), options), second(thousand(), options);
  CHECK(order(first) == order(second));
  CHECK(shard_sizes(first) == shard_sizes(second));
  options.seed = 6;
  CHECK(order(Plan(thousand(), options)) != order(first));
}

TEST_CASE("plan: by bytes, shards are equal within one image") {
  for (const std::uint64_t shard_bytes : {2000u, 10000u, 70000u, 250000u, 500499u}) {
    PlanOptions options;
    options.shard_bytes = shard_bytes;
    const EntryTable entries = thousand();
    const Plan plan(entries, options);
    const std::uint64_t shards = (500500 + shard_bytes - 1) / shard_bytes;
    REQUIRE(plan.shards() == shards);
    for (std::size_t s = 0; s < plan.shards(); ++s) {
      double bytes = 0;
      for (std::size_t p = plan.shard_begin(s); p < plan.shard_begin(s + 1); ++p) {
        bytes += static_cast<double>(entries.size_of(plan.entry(p)));
      }
      CHECK(std::abs(bytes - 500500.0 / static_cast<double>(shards)) <= 1000);
    }
  }
}

TEST_CASE("plan: images larger than a shard make shards of one, and no empty ones") {
  PlanOptions options;
  options.shuffle = false;
  options.shard_bytes = 100;
  CHECK(shard_sizes(Plan(table({10, 1000, 10}), options)) == Sizes{2, 1});
  CHECK(shard_sizes(Plan(table({1000, 1000, 1000}), options)) == Sizes{1, 1, 1});
}

TEST_CASE("plan: what fits in one shard is one shard") {
  PlanOptions options;
  options.shard_bytes = 500500;
  CHECK(Plan(thousand(), options).shards() == 1);
  options.shard_bytes = 0;
  CHECK(Plan(thousand(), options).shards() == 1);
  CHECK(Plan(table({0, 0, 0}), options).shards() == 1);
}

TEST_CASE("plan: by samples, every shard but the last is exactly full") {
  PlanOptions options;
  options.shard_bytes = 1;  // ignored
  options.shard_samples = 4;
  CHECK(shard_sizes(Plan(table({1, 1, 1, 1, 1, 1, 1, 1, 1, 1}), options)) == Sizes{4, 4, 2});
  CHECK(shard_sizes(Plan(table({1, 1, 1, 1}), options)) == Sizes{4});
  CHECK(shard_sizes(Plan(table({1}), options)) == Sizes{1});
}

TEST_CASE("plan: an empty listing has no shards") {
  const Plan plan(EntryTable{}, {});
  CHECK(plan.size() == 0);
  CHECK(plan.shards() == 0);
  CHECK(plan.shard_begin(0) == 0);
}

}  // namespace packhorse
