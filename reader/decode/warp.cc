#include "decode/warp.h"

#include <algorithm>
#include <cmath>

#include "decode/warp_kernels.h"

namespace packhorse::reader {

namespace {

constexpr int kShares = 1 << kShareBits;

/// A position between pixel centres: the pixel before it, and the share of the next one.
struct Between {
  int before;
  int share;
  explicit Between(double position) {
    const double from_centre = position - .5, floor = std::floor(from_centre);
    before = static_cast<int>(floor);
    share = static_cast<int>((from_centre - floor) * kShares + .5);
  }
};

/// Whether both neighbours are pixels, for the fast way.
bool inside(int before, int first, int length) {
  return static_cast<unsigned>(before - first) < static_cast<unsigned>(length - 1);
}

class Sampler {
 public:
  Sampler(const WarpSource& source, Beyond beyond) : source_(source), beyond_(beyond) {}

  void write(Point at, std::uint8_t* pixel) const {
    // Far away, and where a perspective has no finite point.
    if (!(std::abs(at.x) < 1e6 && std::abs(at.y) < 1e6)) return;
    const Between x(at.x), y(at.y);
    const PixelView& view = source_.pixels;
    if (inside(x.before, source_.x, view.width) && inside(y.before, source_.y, view.height))
      return write_inside(x, y, pixel);
    if (beyond_ == Beyond::kBackground) return write_mixed(x, y, pixel);
    const Window& e = source_.extent;
    if (at.x >= e.x && at.x < e.x + e.w && at.y >= e.y && at.y < e.y + e.h)
      write_clamped(x, y, pixel);
  }

 private:
  const std::uint8_t* pixel_at(int x, int y) const {
    const PixelView& view = source_.pixels;
    return view.data + static_cast<std::size_t>(y - source_.y) * view.stride +
           static_cast<std::size_t>(x - source_.x) * kChannels;
  }

  void write_inside(const Between& x, const Between& y, std::uint8_t* pixel) const {
    const std::uint8_t* upper = pixel_at(x.before, y.before);
    mix(upper, upper + kChannels, upper + source_.pixels.stride,
        upper + source_.pixels.stride + kChannels, x.share, y.share, pixel);
  }

  static void mix(const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c,
                  const std::uint8_t* d, int x, int y, std::uint8_t* pixel) {
    constexpr int kHalf = 1 << (2 * kShareBits - 1);
    for (int i = 0; i < kChannels; ++i) {
      const int upper = a[i] * (kShares - x) + b[i] * x, lower = c[i] * (kShares - x) + d[i] * x;
      pixel[i] = static_cast<std::uint8_t>((upper * (kShares - y) + lower * y + kHalf) >>
                                           (2 * kShareBits));
    }
  }

  void write_clamped(const Between& x, const Between& y, std::uint8_t* pixel) const {
    const PixelView& view = source_.pixels;
    const auto column = [&](int i) { return std::clamp(i, source_.x, source_.x + view.width - 1); };
    const auto row = [&](int i) { return std::clamp(i, source_.y, source_.y + view.height - 1); };
    const int left = column(x.before), right = column(x.before + 1);
    const int top = row(y.before), bottom = row(y.before + 1);
    mix(pixel_at(left, top), pixel_at(right, top), pixel_at(left, bottom), pixel_at(right, bottom),
        x.share, y.share, pixel);
  }

  /// What the neighbours do not cover is the pixel that is there.
  void write_mixed(const Between& x, const Between& y, std::uint8_t* pixel) const {
    const PixelView& view = source_.pixels;
    int covered = 0, sums[kChannels] = {};
    for (int i = 0; i < 4; ++i) {
      const int column = x.before + i % 2, row = y.before + i / 2;
      if (column < source_.x || column >= source_.x + view.width || row < source_.y ||
          row >= source_.y + view.height) {
        continue;
      }
      const int share =
          (i % 2 == 0 ? kShares - x.share : x.share) * (i / 2 == 0 ? kShares - y.share : y.share);
      covered += share;
      const std::uint8_t* from = pixel_at(column, row);
      for (int c = 0; c < kChannels; ++c) sums[c] += from[c] * share;
    }
    constexpr int kAll = kShares * kShares;
    for (int c = 0; c < kChannels; ++c) {
      pixel[c] =
          static_cast<std::uint8_t>((sums[c] + pixel[c] * (kAll - covered) + kAll / 2) / kAll);
    }
  }

  const WarpSource& source_;
  Beyond beyond_;
};

/// Positions along an output row: `first` and so much further with each pixel.
struct Line {
  Point first, step;
  Point at(int i) const { return {first.x + i * step.x, first.y + i * step.y}; }
};

/// The pixels [begin, end) of a row.
struct Stretch {
  int begin, end;
  /// Those of them whose first + i * step is within [low, high].
  Stretch within(double first, double step, double low, double high) const {
    if (low > high) return {begin, begin};
    if (std::abs(step) < 1e-12)
      return first >= low && first <= high ? *this : Stretch{begin, begin};
    const double a = (low - first) / step, b = (high - first) / step;
    const auto clamped = [&](double i) {
      return static_cast<int>(std::clamp(i, static_cast<double>(begin), static_cast<double>(end)));
    };
    const int from = clamped(std::ceil(std::min(a, b)));
    return {from, std::max(from, clamped(std::floor(std::max(a, b)) + 1))};
  }
  Stretch within(const Line& line, const Window& window, double edge) const {
    return within(line.first.x, line.step.x, window.x + edge, window.x + window.w - edge)
        .within(line.first.y, line.step.y, window.y + edge, window.y + window.h - edge);
  }
};

// Steps are rounded: positions are taken anew after so many pixels, an error of 1/8192 pixel.
constexpr int kPixelsALine = 16;
constexpr int kFixedSide = 1 << 14;  // longer ones do not fit positions

std::int32_t fixed(double position) {
  return static_cast<std::int32_t>(std::lround(position * (1 << kFixedBits)));
}

/// Writes pixels all of which have four neighbours.
void write_stretch(const WarpSource& source, const Line& line, const Stretch& stretch,
                   std::uint8_t* row) {
  static const SampleLine kSample = fastest_sample_line();
  for (int i = stretch.begin; i < stretch.end; i += kPixelsALine) {
    const Point at = line.at(i);
    const WarpLine part{source.pixels.data,          source.pixels.stride,
                        fixed(at.x - .5 - source.x), fixed(at.y - .5 - source.y),
                        fixed(line.step.x),          fixed(line.step.y)};
    kSample(part, std::min(kPixelsALine, stretch.end - i), row + std::ptrdiff_t{i} * kChannels);
  }
}

/// A row of what keeps lines parallel: positions have the same distance everywhere.
void write_row(const WarpSource& source, const Sampler& sampler, const Line& line, int count,
               std::uint8_t* row) {
  constexpr double kNeighbours = 2, kRounding = .01;
  const PixelView& view = source.pixels;
  const Stretch covered = Stretch{0, count}.within(line, source.extent, -kNeighbours);
  const bool fits = view.width <= kFixedSide && view.height <= kFixedSide &&
                    std::abs(line.step.x) < kFixedSide / kPixelsALine &&
                    std::abs(line.step.y) < kFixedSide / kPixelsALine;
  const Window all{source.x, source.y, view.width, view.height};
  const Stretch whole =
      fits ? covered.within(line, all, .5 + kRounding) : Stretch{covered.begin, covered.begin};
  const auto one_by_one = [&](int begin, int end) {
    for (int i = begin; i < end; ++i)
      sampler.write(line.at(i), row + std::ptrdiff_t{i} * kChannels);
  };
  one_by_one(covered.begin, whole.begin);
  write_stretch(source, line, whole, row);
  one_by_one(whole.end, covered.end);
}

}  // namespace

void warp(const WarpSource& source, const Matrix& inverse, Beyond beyond, const Window& seen,
          std::uint8_t* out, std::size_t stride) {
  const Sampler sampler(source, beyond);
  for (int y = seen.y; y < seen.y + seen.h; ++y) {
    std::uint8_t* row =
        out + static_cast<std::size_t>(y) * stride + static_cast<std::size_t>(seen.x) * kChannels;
    if (inverse.is_affine()) {
      const Line line{inverse({seen.x + .5, y + .5}), {inverse.m[0], inverse.m[3]}};
      write_row(source, sampler, line, seen.w, row);
      continue;
    }
    for (int x = 0; x < seen.w; ++x)
      sampler.write(inverse({seen.x + x + .5, y + .5}), row + std::ptrdiff_t{x} * kChannels);
  }
}

}  // namespace packhorse::reader
