#include "geometry/placed_labels.h"

#include <algorithm>
#include <cmath>

namespace packhorse::reader {

void place_labels(const LabelImage& labels, const MaskPlace& place,
                  std::span<std::uint8_t> output) {
  const Rect& shown = place.shown;
  const Rect seen = around(place.matrix, shown);
  const auto within = [](double edge, int size) {
    return static_cast<int>(std::clamp(edge, 0.0, static_cast<double>(size)));
  };
  const int left = within(std::floor(seen.left), place.output.width);
  const int right = within(std::ceil(seen.right), place.output.width);
  const int top = within(std::floor(seen.top), place.output.height);
  const int bottom = within(std::ceil(seen.bottom), place.output.height);
  const Matrix to_upright = place.matrix.inverse(), to_stored = place.turning.inverse();
  for (int y = top; y < bottom; ++y) {
    std::uint8_t* const row =
        output.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(place.output.width);
    for (int x = left; x < right; ++x) {
      const Point at = to_upright({x + .5, y + .5});
      if (!(at.x >= shown.left && at.x < shown.right && at.y >= shown.top && at.y < shown.bottom))
        continue;
      const Point stored = to_stored(at);
      const double column = std::floor(stored.x), line = std::floor(stored.y);
      if (!(column >= 0 && line >= 0 && column < labels.width && line < labels.height)) continue;
      row[x] = labels.at(static_cast<std::uint32_t>(column), static_cast<std::uint32_t>(line));
    }
  }
}

}  // namespace packhorse::reader
