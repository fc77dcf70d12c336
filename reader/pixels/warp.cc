#include "pixels/warp.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "pixels/warp_kernels.h"

namespace packhorse::reader {

namespace {

constexpr int kShares = 1 << kShareBits;

/// A position between pixel centres: the pixel before it, and the share of the next one.
struct Between {
  int before;
  int share;  ///< of kShares
  float exact_share;
  explicit Between(double position) {
    const double from_centre = position - .5, floor = std::floor(from_centre);
    before = static_cast<int>(floor);
    exact_share = static_cast<float>(from_centre - floor);
    share = static_cast<int>((from_centre - floor) * kShares + .5);
  }
};

/// RGB of 8 bits.
class RgbPixels {
 public:
  static constexpr bool kHasKernel = true;
  explicit RgbPixels(PixelShape) {}
  static constexpr std::size_t bytes() { return kChannels; }

  /// Mixes the pixels around a position, row by row.
  static void mix(const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c,
                  const std::uint8_t* d, const Between& x, const Between& y, std::uint8_t* pixel) {
    constexpr int kHalf = 1 << (2 * kShareBits - 1);
    for (int i = 0; i < kChannels; ++i) {
      const int upper = a[i] * (kShares - x.share) + b[i] * x.share;
      const int lower = c[i] * (kShares - x.share) + d[i] * x.share;
      pixel[i] = static_cast<std::uint8_t>(
          (upper * (kShares - y.share) + lower * y.share + kHalf) >> (2 * kShareBits));
    }
  }

  /// The same where some of the four are missing (null): their shares remain what is there.
  static void mix_some(const std::array<const std::uint8_t*, 4>& around, const Between& x,
                       const Between& y, std::uint8_t* pixel) {
    constexpr int kAll = kShares * kShares;
    int covered = 0, sums[kChannels] = {};
    for (std::size_t i = 0; i < 4; ++i) {
      if (around[i] == nullptr) continue;
      const int share =
          (i % 2 == 0 ? kShares - x.share : x.share) * (i / 2 == 0 ? kShares - y.share : y.share);
      covered += share;
      for (int c = 0; c < kChannels; ++c) sums[c] += around[i][c] * share;
    }
    for (int c = 0; c < kChannels; ++c) {
      pixel[c] =
          static_cast<std::uint8_t>((sums[c] + pixel[c] * (kAll - covered) + kAll / 2) / kAll);
    }
  }
};

/// Any number of bands, each a float.
class BandPixels {
 public:
  static constexpr bool kHasKernel = false;
  explicit BandPixels(PixelShape shape) : bands_(shape.bands) {}
  std::size_t bytes() const { return bands_ * sizeof(float); }

  void mix(const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c,
           const std::uint8_t* d, const Between& x, const Between& y, std::uint8_t* pixel) const {
    mix_some({a, b, c, d}, x, y, pixel);
  }

  void mix_some(const std::array<const std::uint8_t*, 4>& around, const Between& x,
                const Between& y, std::uint8_t* pixel) const {
    auto* out = reinterpret_cast<float*>(pixel);
    float covered = 0;
    std::array<float, 4> shares = {};
    for (std::size_t i = 0; i < 4; ++i) {
      if (around[i] == nullptr) continue;
      shares[i] = (i % 2 == 0 ? 1 - x.exact_share : x.exact_share) *
                  (i / 2 == 0 ? 1 - y.exact_share : y.exact_share);
      covered += shares[i];
    }
    for (std::size_t band = 0; band < bands_; ++band) {
      // What has no share is left out: it may be no number.
      float sum = covered < 1 - kRounding ? out[band] * (1 - covered) : 0;
      for (std::size_t i = 0; i < 4; ++i) {
        if (shares[i] != 0) sum += reinterpret_cast<const float*>(around[i])[band] * shares[i];
      }
      out[band] = sum;
    }
  }

 private:
  static constexpr float kRounding = 1e-6F;
  std::size_t bands_;
};

/// Whether both neighbours are pixels, for the fast way.
bool inside(int before, int first, int length) {
  return static_cast<unsigned>(before - first) < static_cast<unsigned>(length - 1);
}

template <class Pixels>
class Sampler {
 public:
  Sampler(const WarpSource& source, Beyond beyond, const Pixels& pixels)
      : source_(source), beyond_(beyond), pixels_(pixels) {}

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
           static_cast<std::size_t>(x - source_.x) * pixels_.bytes();
  }

  void write_inside(const Between& x, const Between& y, std::uint8_t* pixel) const {
    const std::uint8_t* upper = pixel_at(x.before, y.before);
    const std::uint8_t* lower = upper + source_.pixels.stride;
    pixels_.mix(upper, upper + pixels_.bytes(), lower, lower + pixels_.bytes(), x, y, pixel);
  }

  void write_clamped(const Between& x, const Between& y, std::uint8_t* pixel) const {
    const PixelView& view = source_.pixels;
    const auto column = [&](int i) { return std::clamp(i, source_.x, source_.x + view.width - 1); };
    const auto row = [&](int i) { return std::clamp(i, source_.y, source_.y + view.height - 1); };
    const int left = column(x.before), right = column(x.before + 1);
    const int top = row(y.before), bottom = row(y.before + 1);
    pixels_.mix(pixel_at(left, top), pixel_at(right, top), pixel_at(left, bottom),
                pixel_at(right, bottom), x, y, pixel);
  }

  /// What the neighbours do not cover is the pixel that is there.
  void write_mixed(const Between& x, const Between& y, std::uint8_t* pixel) const {
    const PixelView& view = source_.pixels;
    std::array<const std::uint8_t*, 4> around = {};
    for (int i = 0; i < 4; ++i) {
      const int column = x.before + i % 2, row = y.before + i / 2;
      if (column >= source_.x && column < source_.x + view.width && row >= source_.y &&
          row < source_.y + view.height)
        around[static_cast<std::size_t>(i)] = pixel_at(column, row);
    }
    pixels_.mix_some(around, x, y, pixel);
  }

  const WarpSource& source_;
  Beyond beyond_;
  const Pixels& pixels_;
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
template <class Pixels>
void write_row(const WarpSource& source, const Sampler<Pixels>& sampler, const Pixels& pixels,
               const Line& line, int count, std::uint8_t* row) {
  constexpr double kNeighbours = 2, kRounding = .01, kMostStep = double{kFixedSide} / kPixelsALine;
  const PixelView& view = source.pixels;
  const Stretch covered = Stretch{0, count}.within(line, source.extent, -kNeighbours);
  const bool fits = Pixels::kHasKernel && view.width <= kFixedSide && view.height <= kFixedSide &&
                    std::abs(line.step.x) < kMostStep && std::abs(line.step.y) < kMostStep;
  const Window all{source.x, source.y, view.width, view.height};
  const Stretch whole =
      fits ? covered.within(line, all, .5 + kRounding) : Stretch{covered.begin, covered.begin};
  const auto one_by_one = [&](int begin, int end) {
    for (int i = begin; i < end; ++i)
      sampler.write(line.at(i), row + static_cast<std::size_t>(i) * pixels.bytes());
  };
  one_by_one(covered.begin, whole.begin);
  write_stretch(source, line, whole, row);
  one_by_one(whole.end, covered.end);
}

template <class Pixels>
void warp_pixels(const WarpSource& source, const Matrix& inverse, Beyond beyond, const Window& seen,
                 std::uint8_t* out, std::size_t stride, const Pixels& pixels) {
  const Sampler<Pixels> sampler(source, beyond, pixels);
  for (int y = seen.y; y < seen.y + seen.h; ++y) {
    std::uint8_t* row = out + static_cast<std::size_t>(y) * stride +
                        static_cast<std::size_t>(seen.x) * pixels.bytes();
    if (inverse.is_affine()) {
      const Line line{inverse({seen.x + .5, y + .5}), {inverse.m[0], inverse.m[3]}};
      write_row(source, sampler, pixels, line, seen.w, row);
      continue;
    }
    for (int x = 0; x < seen.w; ++x)
      sampler.write(inverse({seen.x + x + .5, y + .5}),
                    row + static_cast<std::size_t>(x) * pixels.bytes());
  }
}

}  // namespace

void warp(const WarpSource& source, const Matrix& inverse, Beyond beyond, const Window& seen,
          std::uint8_t* out, std::size_t stride, PixelShape shape) {
  if (shape.is_rgb())
    return warp_pixels(source, inverse, beyond, seen, out, stride, RgbPixels(shape));
  warp_pixels(source, inverse, beyond, seen, out, stride, BandPixels(shape));
}

}  // namespace packhorse::reader
