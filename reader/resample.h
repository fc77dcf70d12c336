#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packhorse/reader/augment.h"
#include "pixels.h"
#include "resize_kernels.h"

namespace packhorse::reader {

/// How stored pixels become upright ones: EXIF orientation 1 to 8 (EXIF 2.32, 4.6.4 A). Upright (x,
/// y) is found in the stored picture by exchanging x and y if `swap`, then mirroring.
struct Turn {
  explicit Turn(int orientation)
      : swap(orientation >= 5 && orientation <= 8),
        mirror_x(orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8),
        mirror_y(orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7) {}
  /// Where a window of the upright picture lies in the stored one of width x height.
  Window to_stored(const Window& upright, int width, int height) const;

  bool swap, mirror_x, mirror_y;
};

/// The taps of all output positions along one axis.
class Axis {
 public:
  struct Spec {
    int first = 0;          ///< from this source position on,
    int length = 0;         ///< so many, scaled to
    int scaled = 0;         ///< this many,
    int offset = 0;         ///< of which those from here on
    int size = 0;           ///< fill this many output positions;
    bool reversed = false;  ///< the last one first;
    bool mirrored = false;  ///< while the source runs against the output.
    int shrunk = 1;         ///< The source comes shrunk: each of its positions is so many.
  };
  void build(const Spec& spec);

  std::span<const Tap> taps() const { return taps_; }
  const std::int16_t* weights() const { return weights_.data(); }
  /// The (shrunk) source positions in use: [begin, end). Taps count from `begin`.
  int begin() const { return begin_; }
  int end() const { return end_; }

 private:
  /// What reaches `support` to both sides of `centre`, within [low, high).
  void add_tap(double centre, double support, double low, double high);
  std::vector<Tap> taps_;
  std::vector<std::int16_t> weights_;
  std::vector<double> shares_;
  int begin_ = 0, end_ = 0;
};

/// Scales, turns, mirrors and places pixels as a plan says, in one go, and only those that are
/// seen. The scale is bilinear with antialiasing: a triangle as wide as two output pixels (two
/// source pixels when enlarging), as Pillow's BILINEAR and torchvision's antialiased bilinear,
/// within one level of them. Keeps buffers. One thread.
class Resampler {
 public:
  explicit Resampler(const ResizeKernels& kernels = fastest_kernels()) : kernels_(kernels) {}

  /// The pixels a plan needs of a stored picture of width x height. Empty when it shows none of
  /// them. `shrunk`: the picture will come with its sides shrunk to one in so many, each pixel the
  /// mean of those it was; the window is in such pixels.
  Window prepare(const CropPlan& plan, Turn turn, int size, int width, int height, int shrunk = 1);
  /// `view` holds the window that prepare() asked for, with 16 readable bytes after it. Writes
  /// size x size x 3 bytes to `out`.
  void run(const PixelView& view, std::uint8_t* out);
  /// Memory it keeps for pixels.
  std::size_t kept_bytes() const { return narrowed_.capacity() + scaled_.capacity(); }

 private:
  const ResizeKernels& kernels_;
  Axis columns_, rows_;  ///< of the stored picture
  PixelBuffer narrowed_, scaled_;
  bool swap_ = false;
};

/// Turns a whole picture upright, without scaling. `out` has room for its pixels.
void turn_upright(const PixelView& stored, Turn turn, std::uint8_t* out);

}  // namespace packhorse::reader
