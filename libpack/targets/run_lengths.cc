#include "packhorse/targets/run_lengths.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr int kBits = 5;           // of a number in each character
constexpr int kMore = 1 << kBits;  // another character follows
constexpr int kSign = 1 << (kBits - 1);
constexpr char kZero = '0';
constexpr double kMostCoordinate = 1 << 17;  // of a corner: sides are walked in steps of 1/5

[[noreturn]] void bad_runs(const char* what) {
  throw Error(ErrorKind::kCorrupt, std::string("damaged run lengths: ") + what);
}

/// Takes a number off the front of `text`.
std::int64_t take_number(std::string_view& text) {
  std::int64_t value = 0;
  for (int shift = 0; shift < 8 * kBits; shift += kBits) {
    if (text.empty()) bad_runs("the text is cut");
    const int six = text.front() - kZero;
    if (six < 0 || six >= 2 * kMore) bad_runs("a character is none of theirs");
    text.remove_prefix(1);
    value |= std::int64_t{six & (kMore - 1)} << shift;
    if ((six & kMore) != 0) continue;
    return (six & kSign) != 0 ? value - (std::int64_t{1} << (shift + kBits)) : value;
  }
  bad_runs("a number is too long");
}

void put_number(std::int64_t value, std::string& text) {
  for (bool more = true; more;) {
    auto six = static_cast<int>(value & (kMore - 1));
    value >>= kBits;
    more = value != ((six & kSign) != 0 ? -1 : 0);
    if (more) six |= kMore;
    text += static_cast<char>(kZero + six);
  }
}

/// Where the boundary of a polygon crosses columns, on a grid five times as fine as the pixels.
class BoundaryCrossings {
 public:
  explicit BoundaryCrossings(MaskSize size) : size_(size) {}

  /// Walks one side from grid point to grid point along its longer direction.
  void side(Point from, Point to) {
    GridPoint a = grid(from), b = grid(to);
    const int dx = std::abs(b.x - a.x), dy = std::abs(b.y - a.y);
    const bool flip = (dx >= dy && a.x > b.x) || (dx < dy && a.y > b.y);
    if (flip) std::swap(a, b);
    const int steps = std::max(dx, dy);
    const int rise = dx >= dy ? b.y - a.y : b.x - a.x;
    const double slope = steps == 0 ? 0 : static_cast<double>(rise) / steps;
    for (int i = 0; i <= steps; ++i) {
      const int t = flip ? steps - i : i;
      visit(dx >= dy ? GridPoint{a.x + t, static_cast<int>(a.y + slope * t + .5)}
                     : GridPoint{static_cast<int>(a.x + slope * t + .5), a.y + t});
    }
  }

  /// Their places in the mask as it is read, ascending, with the end of the mask.
  std::vector<std::uint64_t> places() && {
    places_.push_back(size_.pixels());
    std::ranges::sort(places_);
    return std::move(places_);
  }

 private:
  struct GridPoint {
    int x, y;
  };
  static constexpr double kScale = 5;

  static GridPoint grid(Point p) {
    return {static_cast<int>(kScale * p.x + .5), static_cast<int>(kScale * p.y + .5)};
  }
  static double pixel(int grid) { return (grid + .5) / kScale - .5; }

  void visit(GridPoint next) {
    if (started_ && next.x != last_.x) cross(next);
    last_ = next;
    started_ = true;
  }
  void cross(GridPoint next) {
    const double column = pixel(next.x < last_.x ? next.x : next.x - 1);
    if (std::floor(column) != column || column < 0 || column > size_.width - 1.0) return;
    const double row = std::clamp(pixel(std::min(next.y, last_.y)), 0.0, double{1} * size_.height);
    places_.push_back(static_cast<std::uint64_t>(column) * size_.height +
                      static_cast<std::uint64_t>(std::ceil(row)));
  }

  MaskSize size_;
  GridPoint last_ = {};
  bool started_ = false;
  std::vector<std::uint64_t> places_;
};

/// Calls `visit(value, length)` for each run that is not empty.
template <class Visit>
void for_each_run(std::span<const std::uint32_t> counts, const Visit& visit) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) visit(i % 2 != 0, counts[i]);
  }
}

/// Goes along the runs that are not empty.
class RunReader {
 public:
  explicit RunReader(std::span<const std::uint32_t> counts) : counts_(counts) { find(); }
  std::uint32_t remaining() const { return remaining_; }  ///< of this run; 0 at the end
  bool inside() const { return i_ % 2 != 0; }
  void skip(std::uint32_t length) {
    remaining_ -= length;
    if (remaining_ != 0) return;
    ++i_;
    find();
  }

 private:
  void find() {
    while (i_ < counts_.size() && counts_[i_] == 0) ++i_;
    remaining_ = i_ < counts_.size() ? counts_[i_] : 0;
  }
  std::span<const std::uint32_t> counts_;
  std::size_t i_ = 0;
  std::uint32_t remaining_ = 0;
};

/// The pixels for which `inside` says so, by whether they are inside of each mask.
template <class Inside>
RunLengths combine(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                   const Inside& inside) {
  RunWriter combined;
  RunReader left(a), right(b);
  while (left.remaining() != 0 && right.remaining() != 0) {
    const std::uint32_t length = std::min(left.remaining(), right.remaining());
    combined.add(inside(left.inside(), right.inside()), length);
    left.skip(length);
    right.skip(length);
  }
  return std::move(combined).take();
}

}  // namespace

void RunWriter::add(bool inside, std::uint64_t length) {
  if (length == 0) return;
  const auto count = static_cast<std::uint32_t>(length);
  const bool next_inside = counts_.size() % 2 != 0;
  if (inside == next_inside) {
    counts_.push_back(count);
  } else if (counts_.empty()) {
    counts_ = {0, count};
  } else {
    counts_.back() += count;
  }
}

void check_run_lengths(std::span<const std::uint32_t> counts, MaskSize size) {
  std::uint64_t sum = 0;
  for (const std::uint32_t count : counts) sum += count;
  if (sum != size.pixels()) bad_runs("their sum is not the size of the mask");
}

RunLengths parse_run_lengths(std::string_view text) {
  RunLengths counts;
  while (!text.empty()) {
    const std::size_t i = counts.size();
    const std::int64_t count = take_number(text) + (i > 2 ? counts[i - 2] : 0);
    if (!std::in_range<std::uint32_t>(count)) bad_runs("a count is out of range");
    counts.push_back(static_cast<std::uint32_t>(count));
  }
  return counts;
}

std::string run_lengths_text(std::span<const std::uint32_t> counts) {
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i)
    put_number(std::int64_t{counts[i]} - (i > 2 ? counts[i - 2] : 0), text);
  return text;
}

std::uint64_t area_of(std::span<const std::uint32_t> counts) {
  std::uint64_t area = 0;
  for_each_run(counts, [&](bool inside, std::uint32_t length) { area += inside ? length : 0; });
  return area;
}

Box box_of(std::span<const std::uint32_t> counts, MaskSize size) {
  const std::uint64_t height = size.height;
  std::uint64_t left = size.width, top = height, right = 0, bottom = 0, at = 0;
  for_each_run(counts, [&](bool inside, std::uint32_t length) {
    const std::uint64_t end = at + length;
    if (inside) {
      const bool one_column = at / height == (end - 1) / height;
      left = std::min(left, at / height);
      right = std::max(right, (end - 1) / height + 1);
      top = std::min(top, one_column ? at % height : 0);
      bottom = std::max(bottom, one_column ? (end - 1) % height + 1 : height);
    }
    at = end;
  });
  if (right == 0) return {};
  return {static_cast<float>(left), static_cast<float>(top), static_cast<float>(right),
          static_cast<float>(bottom)};
}

RunLengths fill_polygon(std::span<const Point> corners, MaskSize size) {
  for (const Point& corner : corners) {
    if (!(std::abs(corner.x) <= kMostCoordinate && std::abs(corner.y) <= kMostCoordinate))
      throw Error(ErrorKind::kUnsupported, "a polygon's corner is too far outside of the image");
  }
  BoundaryCrossings crossings(size);
  for (std::size_t i = 0; i < corners.size(); ++i)
    crossings.side(corners[i], corners[(i + 1) % corners.size()]);
  RunWriter runs;
  bool inside = false;
  std::uint64_t from = 0;
  for (const std::uint64_t place : std::move(crossings).places()) {
    runs.add(inside, place - from);
    from = place;
    inside = !inside;
  }
  return std::move(runs).take();
}

RunLengths merge_masks(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  return combine(a, b, [](bool in_a, bool in_b) { return in_a || in_b; });
}

/// In pairs, so that no mask is gone through more often than their number has bits.
RunLengths merge_masks(std::vector<RunLengths> masks) {
  if (masks.empty()) return {};
  for (std::size_t step = 1; step < masks.size(); step *= 2)
    for (std::size_t i = 0; i + step < masks.size(); i += 2 * step)
      masks[i] = merge_masks(masks[i], std::exchange(masks[i + step], {}));
  return std::move(masks.front());
}

RunLengths subtract_mask(std::span<const std::uint32_t> from, std::span<const std::uint32_t> mask) {
  return combine(from, mask, [](bool in_a, bool in_b) { return in_a && !in_b; });
}

void draw_mask(std::span<const std::uint32_t> counts, MaskSize size, std::span<std::uint8_t> mask) {
  std::ranges::fill(mask, std::uint8_t{0});
  std::uint64_t at = 0;
  for_each_run(counts, [&](bool inside, std::uint32_t length) {
    for (std::uint64_t i = at; inside && i < at + length; ++i)
      mask[i % size.height * size.width + i / size.height] = 1;
    at += length;
  });
}

}  // namespace packhorse
