#include "order/alias_table.h"

#include <limits>
#include <numeric>

#include "base/permutation.h"

namespace packhorse::reader {

AliasTable::AliasTable(std::span<const double> weights) : cells_(weights.size()) {
  const std::size_t size = weights.size();
  const double scale =
      static_cast<double>(size) / std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto share = [&](std::size_t i) { return weights[i] * scale; };  // 1 on average
  const auto threshold = [](double part) {
    constexpr double kMost = std::numeric_limits<std::uint32_t>::max();
    return static_cast<std::uint32_t>(part >= 1 ? kMost : part * kMost);
  };
  const auto next = [&](std::size_t i, bool heavy) {
    while (i < size && (share(i) > 1) != heavy) ++i;
    return i;
  };
  for (std::size_t i = 0; i < size; ++i) cells_[i] = {threshold(1), static_cast<std::uint32_t>(i)};
  std::size_t light = next(0, false), heavy = next(0, true), last_heavy = heavy;
  double rest = heavy < size ? share(heavy) : 0;  // of the heavy one, not yet given to cells
  while (heavy < size) {
    last_heavy = heavy;
    if (rest > 1) {
      if (light == size) break;
      cells_[light] = {threshold(share(light)), static_cast<std::uint32_t>(heavy)};
      rest -= 1 - share(light);
      light = next(light + 1, false);
      continue;
    }
    const std::size_t following = next(heavy + 1, true);
    if (following < size) {
      cells_[heavy] = {threshold(rest), static_cast<std::uint32_t>(following)};
      rest = share(following) - (1 - rest);
    }
    heavy = following;
  }
  // Where sums were rounded, light ones are left. They must not keep a cell that is not theirs.
  for (; last_heavy < size && light < size; light = next(light + 1, false))
    cells_[light] = {threshold(share(light)), static_cast<std::uint32_t>(last_heavy)};
}

std::uint64_t AliasTable::draw(std::uint64_t bits) const {
  const auto number =
      static_cast<std::uint64_t>((static_cast<__uint128_t>(bits) * cells_.size()) >> 64);
  const Cell cell = cells_[number];
  return mix64(bits) >> 32 < cell.threshold ? number : cell.alias;
}

}  // namespace packhorse::reader
