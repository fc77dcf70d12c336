#pragma once

#include <optional>
#include <vector>

namespace packhorse::reader {

/// A point of the throughput curve.
struct SweepPoint {
  int workers = 0;
  double images_per_s = 0;
};

/// Where more workers stop paying.
struct Knee {
  int workers = 0;            ///< the fewest that reach `kKneeShare` of the best rate
  double images_per_s = 0;    ///< of these
  int best_workers = 0;       ///< the fewest with the best rate
  double best_per_s = 0;      ///< the best rate
  bool still_rising = false;  ///< it is the last point of several: the knee lies there or beyond
};

/// What noise between repeats may take away, and nobody would pay a further thread for.
inline constexpr double kKneeShare = 0.95;

/// The knee of a curve whose points come in any order; nothing for no points, or when all rates are
/// zero. A share of the best is used, not the curve's bend: with the handful of worker counts one
/// tries, bends (as Kneedle finds them) are mostly noise.
std::optional<Knee> find_knee(std::vector<SweepPoint> points);

}  // namespace packhorse::reader
