#include "measure/knee.h"

#include <algorithm>

namespace packhorse::reader {

std::optional<Knee> find_knee(std::vector<SweepPoint> points) {
  std::ranges::sort(points, {}, &SweepPoint::workers);
  const auto slower = [](const SweepPoint& a, const SweepPoint& b) {
    return a.images_per_s < b.images_per_s;
  };
  const auto best = std::ranges::max_element(points, slower);
  if (best == points.end() || best->images_per_s <= 0) return std::nullopt;
  const auto knee = std::ranges::find_if(points, [&](const SweepPoint& point) {
    return point.images_per_s >= kKneeShare * best->images_per_s;
  });
  return Knee{.workers = knee->workers,
              .images_per_s = knee->images_per_s,
              .best_workers = best->workers,
              .best_per_s = best->images_per_s,
              .still_rising = points.size() > 1 && knee->workers == points.back().workers};
}

}  // namespace packhorse::reader
