#include "geometry/placed_masks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace packhorse::reader {

namespace {

/// The corners on one side of a line (Sutherland and Hodgman 1974). `beyond` is above 0 for points
/// that go, and grows evenly.
template <class Beyond>
std::vector<Point> cut_at(std::span<const Point> corners, const Beyond& beyond) {
  std::vector<Point> kept;
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const Point &a = corners[i], &b = corners[(i + 1) % corners.size()];
    const double from = beyond(a), to = beyond(b);
    if (from <= 0) kept.push_back(a);
    if ((from <= 0) == (to <= 0)) continue;
    const double share = from / (from - to);
    kept.push_back({a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share});
  }
  return kept;
}

/// Where a mask's runs end, to look pixels up. It takes memory for the runs, not for the pixels: a
/// small file can claim many masks of a large picture.
class MaskLookup {
 public:
  MaskLookup(std::span<const std::uint32_t> counts, MaskSize size)
      : box_(box_of(counts, size)), rows_(size.height) {
    ends_.reserve(counts.size());
    std::uint64_t at = 0;
    for (const std::uint32_t count : counts) ends_.push_back(at += count);
  }
  bool empty() const { return !(box_.right > box_.left && box_.bottom > box_.top); }
  Rect box() const { return {box_.left, box_.top, box_.right, box_.bottom}; }
  bool inside(Point at) {
    const double x = std::floor(at.x), y = std::floor(at.y);
    if (!(x >= box_.left && y >= box_.top && x < box_.right && y < box_.bottom)) return false;
    return run_of(static_cast<std::uint64_t>(x) * rows_ + static_cast<std::uint64_t>(y)) % 2 != 0;
  }

 private:
  /// The run that a pixel is in; mostly that of the pixel before, or the next one.
  std::size_t run_of(std::uint64_t pixel) {
    const std::uint64_t begin = run_ == 0 ? 0 : ends_[run_ - 1];
    if (pixel >= begin && pixel < ends_[run_]) return run_;
    if (run_ + 1 < ends_.size() && pixel >= ends_[run_] && pixel < ends_[run_ + 1]) return ++run_;
    const auto found = std::upper_bound(ends_.begin(), ends_.end(), pixel);
    return run_ = static_cast<std::size_t>(found - ends_.begin());
  }

  Box box_;
  std::uint64_t rows_;
  std::vector<std::uint64_t> ends_;
  std::size_t run_ = 0;
};

std::uint32_t pixel_within(double edge, int size) {
  return static_cast<std::uint32_t>(std::clamp(edge, 0.0, static_cast<double>(size)));
}

}  // namespace

std::vector<Point> cut_polygon(std::span<const Point> corners, const Rect& part) {
  std::vector<Point> kept(corners.begin(), corners.end());
  kept = cut_at(kept, [&](Point p) { return part.left - p.x; });
  kept = cut_at(kept, [&](Point p) { return p.x - part.right; });
  kept = cut_at(kept, [&](Point p) { return part.top - p.y; });
  return cut_at(kept, [&](Point p) { return p.y - part.bottom; });
}

RunLengths place_mask(std::span<const std::uint32_t> counts, const MaskPlace& place) {
  MaskLookup mask(counts, place.stored);
  const auto rows = static_cast<std::uint64_t>(place.output.height);
  RunWriter placed;
  const Rect in_output =
      mask.empty() ? Rect{}
                   : around(place.matrix, overlap(around(place.turning, mask.box()), place.shown));
  const std::uint32_t left = pixel_within(std::floor(in_output.left), place.output.width);
  const std::uint32_t right = pixel_within(std::ceil(in_output.right), place.output.width);
  const std::uint32_t top = pixel_within(std::floor(in_output.top), place.output.height);
  const std::uint32_t bottom = pixel_within(std::ceil(in_output.bottom), place.output.height);
  const Matrix to_upright = place.matrix.inverse(), to_stored = place.turning.inverse();
  placed.add(false, left * rows);
  for (std::uint32_t x = left; x < right; ++x) {
    placed.add(false, top);
    for (std::uint32_t y = top; y < bottom; ++y) {
      const Point at = to_upright({x + .5, y + .5});
      const Rect& shown = place.shown;
      const bool seen =
          at.x >= shown.left && at.x < shown.right && at.y >= shown.top && at.y < shown.bottom;
      placed.add(seen && mask.inside(to_stored(at)), 1);
    }
    placed.add(false, rows - bottom);
  }
  placed.add(false,
             (static_cast<std::uint64_t>(place.output.width) - std::max(left, right)) * rows);
  return std::move(placed).take();
}

}  // namespace packhorse::reader
