#include "decode/warp.h"

#include <algorithm>
#include <cmath>

namespace packhorse::reader {

namespace {

// Shares of neighbouring pixels are numbers of so many bits: products with a level fit 32.
constexpr int kShareBits = 10;
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

}  // namespace

void warp(const WarpSource& source, const Matrix& inverse, Beyond beyond, const Window& seen,
          std::uint8_t* out, std::size_t stride) {
  const Sampler sampler(source, beyond);
  for (int y = seen.y; y < seen.y + seen.h; ++y) {
    std::uint8_t* pixel =
        out + static_cast<std::size_t>(y) * stride + static_cast<std::size_t>(seen.x) * kChannels;
    for (int x = seen.x; x < seen.x + seen.w; ++x, pixel += kChannels)
      sampler.write(inverse({x + .5, y + .5}), pixel);
  }
}

}  // namespace packhorse::reader
