#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

/// The vocabulary of the orders' tests.
namespace packhorse::reader::test {

using Samples = std::vector<std::uint64_t>;

inline Samples sorted(Samples samples) {
  std::sort(samples.begin(), samples.end());
  return samples;
}

inline Samples up_to(std::uint64_t n) {
  Samples all(n);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

}  // namespace packhorse::reader::test
