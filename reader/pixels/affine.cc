#include "pixels/affine.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "packhorse/reader/detection_augment.h"
#include "pixels/warp.h"
#include "pixels/warp_kernels.h"

namespace packhorse::reader {

namespace {

/// Positions along an output row, in fixed point: exact sums, so that the last is where it belongs.
struct FixedLine {
  std::int64_t x, y, step_x, step_y;

  FixedLine(const Matrix& inverse, int row) {
    constexpr double kFarthest = 1 << 28, kMostStep = 1 << 14;  // no sum overflows
    const auto fixed = [](double position, double most) {
      return std::llround(std::clamp(position, -most, most) *
                          static_cast<double>(1LL << kPositionBits));
    };
    const Point first = inverse({.5, row + .5});
    x = fixed(first.x, kFarthest), y = fixed(first.y, kFarthest);
    step_x = fixed(inverse.m[0], kMostStep), step_y = fixed(inverse.m[3], kMostStep);
  }
  std::int64_t column(std::int64_t i) const { return (x + i * step_x) >> kPositionBits; }
  std::int64_t row(std::int64_t i) const { return (y + i * step_y) >> kPositionBits; }
};

/// The pixels of an output row whose positions are in the picture: [begin, end).
struct Inside {
  std::int64_t begin = 0, end;

  Inside(const FixedLine& line, const PixelView& view) : end(view.width) {
    keep(line, view.width, view.height);
  }
  /// Those of `others` whose positions are within width x height.
  Inside(const FixedLine& line, int width, int height, const Inside& others) : Inside(others) {
    keep(line, width, height);
  }

 private:
  void keep(const FixedLine& line, int width, int height) {
    keep(line.x, line.step_x, std::int64_t{std::max(width, 0)} << kPositionBits);
    keep(line.y, line.step_y, std::int64_t{std::max(height, 0)} << kPositionBits);
  }
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
    begin = std::min(std::max(begin, from(0)), end);
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
  if (line.step_x == std::int64_t{1} << kPositionBits && line.step_y == 0) {
    std::memcpy(out, pixel(inside.begin),
                static_cast<std::size_t>(inside.end - inside.begin) * kChannels);
    return;
  }
  for (std::int64_t i = inside.begin; i + 1 < inside.end; ++i, out += kChannels)
    std::memcpy(out, pixel(i), kChannels + 1);  // one word: the next pixel comes over its last byte
  std::memcpy(out, pixel(inside.end - 1), kChannels);
}

/// Pillow's weights of the four pixels around each position.
std::array<CubicWeights, kCubicPhases + 1> make_cubic_weights() {
  std::array<CubicWeights, kCubicPhases + 1> made;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const double d = static_cast<double>(i) / kCubicPhases;
    const std::array<double, 4> exact = {-d + 2 * d * d - d * d * d, 1 - 2 * d * d + d * d * d,
                                         d + d * d - d * d * d, -d * d + d * d * d};
    int left = 1 << kCubicBits;
    for (const std::size_t k : {0U, 3U, 2U}) {
      made[i][k] = static_cast<std::int16_t>(std::lround(exact[k] * (1 << kCubicBits)));
      left -= made[i][k];
    }
    made[i][1] = static_cast<std::int16_t>(left);
  }
  return made;
}

void write_cubic(const PixelView& view, const FixedLine& line, const Inside& inside,
                 std::uint8_t* row) {
  static const auto kWeights = make_cubic_weights();
  static const SampleCubic kSample = fastest_sample_cubic();
  constexpr std::int64_t kPixel = std::int64_t{1} << kPositionBits, kToFirst = kPixel * 3 / 2;
  FixedLine first = line;  // of the neighbours
  first.x -= kToFirst, first.y -= kToFirst;
  const Inside whole(first, view.width - 3, view.height - 3, inside);
  const auto sample = [&](const std::uint8_t* pixels, std::size_t stride, std::int64_t x,
                          std::int64_t y, std::int64_t count, std::int64_t to) {
    kSample({pixels, stride, x, y, line.step_x, line.step_y, kWeights.data()}, count,
            row + to * kChannels);
  };
  /// At the edge, the neighbours are copied: those beyond it are its pixels.
  const auto one_by_one = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t x = first.x + i * line.step_x, y = first.y + i * line.step_y;
      std::array<std::uint8_t, std::size_t{16} * kChannels + PixelBuffer::kSlack> around;
      for (std::int64_t k = 0; k < 16; ++k) {
        const auto column =
            std::clamp<std::int64_t>((x >> kPositionBits) + k % 4, 0, view.width - 1);
        const auto line_of =
            std::clamp<std::int64_t>((y >> kPositionBits) + k / 4, 0, view.height - 1);
        std::memcpy(
            around.data() + k * kChannels,
            view.data + line_of * static_cast<std::int64_t>(view.stride) + column * kChannels,
            kChannels);
      }
      sample(around.data(), std::size_t{4} * kChannels, x & (kPixel - 1), y & (kPixel - 1), 1, i);
    }
  };
  one_by_one(inside.begin, whole.begin);
  sample(view.data, view.stride, first.x + whole.begin * line.step_x,
         first.y + whole.begin * line.step_y, whole.end - whole.begin, whole.begin);
  one_by_one(whole.end, inside.end);
}

}  // namespace

void move_picture(const PixelView& source, const Matrix& inverse, WarpInterpolation interpolation,
                  const Colour& colour, std::uint8_t* out) {
  const std::size_t row_bytes = static_cast<std::size_t>(source.width) * kChannels;
  fill({out, row_bytes * static_cast<std::size_t>(source.height)}, colour);
  if (interpolation == WarpInterpolation::kBilinear) {
    const Window all{0, 0, source.width, source.height};
    return warp({source, 0, 0, all}, inverse, Beyond::kBackground, all, out, row_bytes);
  }
  for (int y = 0; y < source.height; ++y, out += row_bytes) {
    const FixedLine line(inverse, y);
    const Inside inside(line, source);
    if (interpolation == WarpInterpolation::kNearest) {
      write_nearest(source, line, inside, out);
    } else {
      write_cubic(source, line, inside, out);
    }
  }
}

}  // namespace packhorse::reader
