#pragma once

#include <cstdint>

namespace packhorse::simulation {

/// All that is drawn for one seed, in the order in which it is drawn (splitmix64).
struct Chance {
  std::uint64_t state = 0;

  std::uint64_t next() {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// 0 to n - 1.
  std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : next() % n; }
  bool once_in(std::uint64_t n) { return below(n) == 0; }
  /// 1 to most, small ones more often.
  std::uint64_t skewed(std::uint64_t most) { return 1 + below(1 + below(most)); }
};

}  // namespace packhorse::simulation
