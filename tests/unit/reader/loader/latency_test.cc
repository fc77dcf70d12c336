#include "loader/latency.h"

#include <doctest/doctest.h>

#include <limits>
#include <thread>
#include <vector>

namespace packhorse::reader::test {

TEST_CASE("latencies: percentiles are right within their bucket") {
  LatencyHistogram histogram;
  for (std::uint64_t i = 1; i <= 10'000; ++i) histogram.add(i * 1000);
  const Latencies all = histogram.summary();
  CHECK(all.count == 10'000);
  CHECK(all.sum_ns == 50'005'000'000);
  CHECK(all.max_ns == 10'000'000);
  CHECK(all.p50_ns >= 5'000'000);
  CHECK(all.p50_ns < 5'000'000 * 1.13);
  CHECK(all.p99_ns >= 9'900'000);
  CHECK(all.p99_ns <= all.max_ns);
}

TEST_CASE("latencies: small and huge values, one value and none") {
  CHECK(LatencyHistogram().summary().p99_ns == 0);
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{8}, std::uint64_t{1} << 40,
        std::numeric_limits<std::uint64_t>::max()}) {
    LatencyHistogram histogram;
    histogram.add(value);
    CHECK(histogram.summary().p50_ns == value);
    CHECK(histogram.summary().max_ns == value);
  }
}

TEST_CASE("latencies: threads may add at the same time") {
  LatencyHistogram histogram;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (std::uint64_t i = 0; i < 10'000; ++i) histogram.add(i);
      });
    }
  }
  CHECK(histogram.summary().count == 40'000);
}

}  // namespace packhorse::reader::test
