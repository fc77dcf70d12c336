#include "pixels/affine.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "packhorse/reader/detection_augment.h"
#include "pixels/warp.h"

namespace packhorse::reader {

namespace {

/// Positions along an output row, in fixed point: exact sums, so that the last is where it belongs.
struct FixedLine {
  static constexpr int kBits = 32;
  std::int64_t x, y, step_x, step_y;

  FixedLine(const Matrix& inverse, int row) {
    constexpr double kFarthest = 1 << 28, kMostStep = 1 << 14;  // no sum overflows
    const auto fixed = [](double position, double most) {
      return std::llround(std::clamp(position, -most, most) * static_cast<double>(1LL << kBits));
    };
    const Point first = inverse({.5, row + .5});
    x = fixed(first.x, kFarthest), y = fixed(first.y, kFarthest);
    step_x = fixed(inverse.m[0], kMostStep), step_y = fixed(inverse.m[3], kMostStep);
  }
  std::int64_t column(std::int64_t i) const { return (x + i * step_x) >> kBits; }
  std::int64_t row(std::int64_t i) const { return (y + i * step_y) >> kBits; }
};

/// The pixels of an output row whose positions are in the picture: [begin, end).
struct Inside {
  std::int64_t begin = 0, end;

  Inside(const FixedLine& line, const PixelView& view) : end(view.width) {
    keep(line.x, line.step_x, std::int64_t{view.width} << FixedLine::kBits);
    keep(line.y, line.step_y, std::int64_t{view.height} << FixedLine::kBits);
  }

 private:
  /// Those i with 0 <= first + i * step < limit.
  void keep(std::int64_t first, std::int64_t step, std::int64_t limit) {
    if (step == 0) {
      if (first < 0 || first >= limit) end = begin;
      return;
    }
    if (step < 0) {  // the same from the other side
      first = limit - 1 - first;
      step = -step;
    }
    const auto from = [&](std::int64_t position) {  // the first i at `position` or after it
      const std::int64_t way = position - first;
      return way <= 0 ? 0 : (way + step - 1) / step;
    };
    begin = std::max(begin, from(0));
    end = std::max(begin, std::min(end, from(limit)));
  }
};

void write_nearest(const PixelView& view, const FixedLine& line, const Inside& inside,
                   std::uint8_t* row) {
  std::uint8_t* out = row + inside.begin * kChannels;
  const auto pixel = [&](std::int64_t i) {
    return view.data + line.row(i) * static_cast<std::int64_t>(view.stride) +
           line.column(i) * kChannels;
  };
  if (inside.begin == inside.end) return;
  if (line.step_x == std::int64_t{1} << FixedLine::kBits && line.step_y == 0) {
    std::memcpy(out, pixel(inside.begin),
                static_cast<std::size_t>(inside.end - inside.begin) * kChannels);
    return;
  }
  for (std::int64_t i = inside.begin; i + 1 < inside.end; ++i, out += kChannels)
    std::memcpy(out, pixel(i), kChannels + 1);  // one word: the next pixel comes over its last byte
  std::memcpy(out, pixel(inside.end - 1), kChannels);
}

/// Pillow's weights of the four pixels around a position, in 1 / (1 << kBits).
class CubicWeights {
 public:
  static constexpr int kBits = 12, kPhaseBits = 9;
  using Four = std::array<std::int32_t, 4>;

  CubicWeights() {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const double d = (static_cast<double>(i) + .5) / static_cast<double>(weights_.size());
      const std::array<double, 4> exact = {-d + 2 * d * d - d * d * d, 1 - 2 * d * d + d * d * d,
                                           d + d * d - d * d * d, -d * d + d * d * d};
      std::int32_t left = 1 << kBits;
      for (const std::size_t k : {0U, 3U, 2U}) {
        weights_[i][k] = static_cast<std::int32_t>(std::lround(exact[k] * (1 << kBits)));
        left -= weights_[i][k];
      }
      weights_[i][1] = left;
    }
  }
  const Four& at(std::int64_t position) const {
    return weights_[static_cast<std::size_t>(position >> (FixedLine::kBits - kPhaseBits)) %
                    weights_.size()];
  }

 private:
  std::array<Four, 1 << kPhaseBits> weights_;
};

void write_cubic(const PixelView& view, const FixedLine& line, const Inside& inside,
                 std::uint8_t* row) {
  static const CubicWeights kWeights;
  constexpr std::int64_t kHalfPixel = std::int64_t{1} << (FixedLine::kBits - 1);
  constexpr int kLost = 6, kShift = 2 * CubicWeights::kBits - kLost;
  for (std::int64_t i = inside.begin; i < inside.end; ++i) {
    const std::int64_t x = line.x + i * line.step_x - kHalfPixel;
    const std::int64_t y = line.y + i * line.step_y - kHalfPixel;
    const CubicWeights::Four &across = kWeights.at(x), &down = kWeights.at(y);
    const std::int64_t left = (x >> FixedLine::kBits) - 1, top = (y >> FixedLine::kBits) - 1;
    std::array<std::int64_t, 4> columns;
    for (std::int64_t k = 0; k < 4; ++k)
      columns[static_cast<std::size_t>(k)] =
          std::clamp<std::int64_t>(left + k, 0, view.width - 1) * kChannels;
    std::array<std::int32_t, kChannels> sums = {};
    for (std::int64_t k = 0; k < 4; ++k) {
      const std::uint8_t* pixels =
          view.data + std::clamp<std::int64_t>(top + k, 0, view.height - 1) *
                          static_cast<std::int64_t>(view.stride);
      for (std::size_t c = 0; c < kChannels; ++c) {
        std::int32_t sum = 0;
        for (std::size_t j = 0; j < 4; ++j)
          sum += pixels[static_cast<std::size_t>(columns[j]) + c] * across[j];
        sums[c] += (sum >> kLost) * down[static_cast<std::size_t>(k)];
      }
    }
    for (std::size_t c = 0; c < kChannels; ++c)
      row[i * kChannels + static_cast<std::int64_t>(c)] =
          static_cast<std::uint8_t>(std::clamp((sums[c] + (1 << (kShift - 1))) >> kShift, 0, 255));
  }
}

}  // namespace

void move_picture(const PixelView& source, const Matrix& inverse, Interpolation interpolation,
                  const Colour& colour, std::uint8_t* out) {
  const std::size_t row_bytes = static_cast<std::size_t>(source.width) * kChannels;
  fill({out, row_bytes * static_cast<std::size_t>(source.height)}, colour);
  if (interpolation == Interpolation::kBilinear) {
    const Window all{0, 0, source.width, source.height};
    return warp({source, 0, 0, all}, inverse, Beyond::kBackground, all, out, row_bytes);
  }
  for (int y = 0; y < source.height; ++y, out += row_bytes) {
    const FixedLine line(inverse, y);
    const Inside inside(line, source);
    if (interpolation == Interpolation::kNearest) {
      write_nearest(source, line, inside, out);
    } else {
      write_cubic(source, line, inside, out);
    }
  }
}

}  // namespace packhorse::reader
