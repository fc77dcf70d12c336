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

/// A mask's pixels, as far as there are any.
class DrawnMask {
 public:
  DrawnMask(std::span<const std::uint32_t> counts, MaskSize size) : box_(box_of(counts, size)) {
    left_ = static_cast<std::uint32_t>(box_.left), top_ = static_cast<std::uint32_t>(box_.top);
    width_ = static_cast<std::uint32_t>(box_.right) - left_;
    height_ = static_cast<std::uint32_t>(box_.bottom) - top_;
    pixels_.resize(std::size_t{width_} * height_);
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < counts.size(); at += counts[i++]) {
      if (i % 2 != 0) draw(at, counts[i], size.height);
    }
  }
  bool empty() const { return pixels_.empty(); }
  Rect box() const { return {box_.left, box_.top, box_.right, box_.bottom}; }
  bool inside(Point at) const {
    const double x = std::floor(at.x) - left_, y = std::floor(at.y) - top_;
    if (!(x >= 0 && y >= 0 && x < width_ && y < height_)) return false;
    return pixels_[static_cast<std::size_t>(x) * height_ + static_cast<std::size_t>(y)] != 0;
  }

 private:
  /// Pixels are kept column by column, as runs are.
  void draw(std::uint64_t at, std::uint64_t count, std::uint32_t rows) {
    while (count > 0) {
      const std::uint64_t column = at / rows, row = at % rows;
      const std::uint64_t here = std::min(count, rows - row);
      std::fill_n(
          pixels_.begin() + static_cast<std::ptrdiff_t>((column - left_) * height_ + row - top_),
          here, std::uint8_t{1});
      at += here;
      count -= here;
    }
  }
  Box box_;
  std::uint32_t left_, top_, width_, height_;
  std::vector<std::uint8_t> pixels_;
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
  const DrawnMask mask(counts, place.stored);
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
