#pragma once

#include <optional>
#include <vector>

#include "packhorse/reader/autotune.h"

namespace packhorse::reader {

/// The point from which more workers stop paying off.
struct Knee {
  int workers = 0;            ///< the fewest that reach `kKneeShare` of the best rate
  double images_per_s = 0;    ///< rate with `workers`
  int best_workers = 0;       ///< the fewest with the best rate
  double best_per_s = 0;      ///< the best rate
  bool still_rising = false;  ///< `workers` is the last of several points: the knee may lie beyond
};

/// Share of the best rate that counts as reaching it: the rest is noise between repeats, not worth
/// another thread.
inline constexpr double kKneeShare = 0.95;

/// Finds the knee of a curve whose points come in any order. Returns nothing for no points, or when
/// all rates are zero. Uses a share of the best rate, not the curve's bend: with a handful of
/// worker counts, bends (as Kneedle finds them) are mostly noise.
std::optional<Knee> find_knee(std::vector<SweepPoint> points);

}  // namespace packhorse::reader
