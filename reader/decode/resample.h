#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decode/resize_kernels.h"
#include "packhorse/image/image_info.h"
#include "packhorse/reader/augment.h"
#include "packhorse/reader/geometry.h"
#include "pixels/pixels.h"

namespace packhorse::reader {

/// Where a window of the upright picture lies in the stored one, which is width x height.
Window to_stored(const Turn& turn, const Window& upright, int width, int height);

/// The taps of all output positions along one axis.
class Axis {
 public:
  struct Spec {
    double first = 0;       ///< from this source position on,
    double length = 0;      ///< so many, scaled to
    double scaled = 0;      ///< this many,
    double offset = 0;      ///< of which those from here on
    int size = 0;           ///< fill this many output positions;
    bool reversed = false;  ///< the last one first;
    bool mirrored = false;  ///< while the source runs against the output.
    int shrunk = 1;         ///< The source comes shrunk: each of its positions is so many.
    bool bicubic = false;   ///< the filter; otherwise bilinear
  };
  void build(const Spec& spec, bool exact = false);

  std::span<const Tap> taps() const { return taps_; }
  const std::int16_t* weights() const { return weights_.data(); }
  /// The same as floats, where build() was asked for them.
  const float* exact_weights() const { return exact_weights_.data(); }
  /// The (shrunk) source positions in use: [begin, end). Taps count from `begin`.
  int begin() const { return begin_; }
  int end() const { return end_; }
  /// Each output position is made of earlier source positions than the one before.
  bool runs_back() const { return runs_back_; }
  /// Number of source positions that the largest tap uses.
  int longest() const;

 private:
  /// Adds the tap around `centre` of the positions within [low, high). The filter's unit is `scale`
  /// positions.
  void add_tap(double centre, double scale, double low, double high);
  std::vector<Tap> taps_;
  std::vector<std::int16_t> weights_;
  std::vector<double> shares_;
  std::vector<float> exact_weights_;
  bool exact_ = false, bicubic_ = false;
  int begin_ = 0, end_ = 0;
  bool runs_back_ = false;
};

/// Scales, turns, mirrors and places pixels as a plan says, in one pass, and only the visible ones.
/// Scaling is antialiased, as in Pillow and torchvision and within one level of them. The bilinear
/// filter is a triangle two output pixels wide (two source pixels when enlarging), the bicubic one
/// four wide (Keys, a = -1/2). Rows are scaled as they arrive: only as many are kept as one output
/// row needs. Keeps buffers. One thread.
///
///     const Window window = resampler.prepare(plan, turn, size, width, height);
///     resampler.write_to(out, row_bytes);
///     ...  // start(), and take() until all rows of the window have been taken
class Resampler : public PixelSink {
 public:
  explicit Resampler(PixelShape shape = {}, const ResizeKernels& kernels = fastest_kernels())
      : shape_(shape), kernels_(kernels) {}

  /// The pixels that a plan needs from a stored picture of width x height; empty when it shows none
  /// of them. `shrunk`: the picture will arrive with its sides divided by this, each pixel the mean
  /// of those it replaces; the window is in such pixels.
  Window prepare(const CropPlan& plan, Turn turn, ImageSize size, int width, int height,
                 int shrunk = 1);
  /// Likewise, for the part of a placed picture that is seen in `seen`, a window of the output. The
  /// placement's matrix keeps the axes.
  Window prepare(const Placement& placement, Turn turn, const Window& seen, int width, int height);
  /// Writes the next window taken to `out`, rows of pixels that are `stride` bytes apart: those of
  /// `size`, or of `seen`. When the window is empty, take() must not be called: `out`
  /// is black.
  void write_to(std::uint8_t* out, std::size_t stride);
  void start() override;
  /// Takes rows of the window that prepare() returned.
  void take(const PixelView& rows) override;
  /// Bytes of memory it keeps for pixels.
  std::size_t kept_bytes() const { return narrowed_.capacity() + scaled_.capacity(); }

 private:
  Window prepare(const Axis::Spec& x, const Axis::Spec& y, Turn turn);
  std::size_t row_made(std::size_t before) const;
  std::size_t narrowed_stride() const;
  void scale_rows(const PixelView& rows, int y, int count, std::uint8_t* out) const;
  void scale_column(const std::uint8_t* first, const Tap& tap, std::uint8_t* out) const;
  void make_room(int rows);
  void write_rows();

  PixelShape shape_;
  ResizeKernels kernels_;
  Axis columns_, rows_;  ///< of the stored picture
  PixelBuffer narrowed_, scaled_;
  bool swap_ = false, bicubic_ = false;
  std::uint8_t *out_ = nullptr, *target_ = nullptr;  ///< the same memory, unless turned at the end
  std::size_t out_stride_ = 0, target_stride_ = 0;   ///< bytes from row to row
  int room_ = 0;          ///< rows of the window that narrowed_ has room for,
  int from_ = 0;          ///< the first of those rows
  int taken_ = 0;         ///< rows of the window
  std::size_t done_ = 0;  ///< output rows, in the order in which they can be made
};

/// The output pixels in which a placed picture is seen: those whose centres it covers, unless its
/// matrix turns it. Empty where it is not seen at all.
Window seen_window(const Placement& placement, ImageSize output);

/// Turns a whole stored picture of width x height upright, without scaling. One thread.
class UprightWriter : public PixelSink {
 public:
  /// `out` must have room for all pixels.
  UprightWriter(Turn turn, int width, int height, std::uint8_t* out, PixelShape shape = {})
      : turn_(turn), width_(width), height_(height), pixel_(shape.bytes()), out_(out) {}
  void start() override { taken_ = 0; }
  void take(const PixelView& rows) override;

 private:
  void put_row(const std::uint8_t* row, int y);

  Turn turn_;
  int width_, height_;
  std::size_t pixel_;  // bytes
  std::uint8_t* out_;
  int taken_ = 0;  // rows
};

}  // namespace packhorse::reader
