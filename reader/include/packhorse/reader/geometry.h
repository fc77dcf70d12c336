#pragma once

#include <array>
#include <optional>

#include "packhorse/image/image_info.h"
#include "packhorse/targets/objects.h"

/// Where an image's pixels and targets go when it becomes a sample. The pixel in column x and row y
/// covers [x, x + 1) x [y, y + 1).
namespace packhorse::reader {

/// A projective map of the plane, row by row: (x, y) goes to (X / W, Y / W), where (X, Y, W) is the
/// matrix times (x, y, 1).
struct Matrix {
  std::array<double, 9> m = {1, 0, 0, 0, 1, 0, 0, 0, 1};

  static Matrix scaling(double x, double y);
  static Matrix translation(double x, double y);
  /// Linear part (a b; c d), then the translation (x, y).
  static Matrix affine(double a, double b, double x, double c, double d, double y);
  /// torchvision's affine() about the origin: sheared along x and y, scaled, and turned clockwise;
  /// angles in degrees.
  static Matrix turned(double degrees, double scale, double shear_x, double shear_y);
  /// From the stored picture to the upright one.
  static Matrix turning(const ImageInfo& image);
  /// Takes four points to four others. Throws Error(kUsage) when three are in one line.
  static Matrix from_corners(const std::array<Point, 4>& from, const std::array<Point, 4>& to);

  Point operator()(Point point) const;
  /// Applies `first`, then this.
  Matrix operator*(const Matrix& first) const;
  /// Throws Error(kUsage) when there is none.
  Matrix inverse() const;
  /// Lines that are parallel stay so.
  bool is_affine() const { return m[6] == 0 && m[7] == 0; }
  /// Rows stay rows, and columns columns.
  bool keeps_axes() const { return is_affine() && m[1] == 0 && m[3] == 0; }
  friend bool operator==(const Matrix&, const Matrix&) = default;
};

/// A rectangle of pixels or parts of them.
struct Rect {
  double left = 0, top = 0, right = 0, bottom = 0;
  double width() const { return right - left; }
  double height() const { return bottom - top; }
  bool empty() const { return !(left < right && top < bottom); }
  friend bool operator==(const Rect&, const Rect&) = default;
};
/// Empty where they do not overlap.
Rect overlap(const Rect& a, const Rect& b);
/// Around the four corners of `rect`, mapped.
Rect around(const Matrix& matrix, const Rect& rect);

/// Size of an output picture.
struct ImageSize {
  constexpr ImageSize() = default;
  constexpr ImageSize(int side) : ImageSize(side, side) {}  // NOLINT(*-explicit-*): a square
  constexpr ImageSize(int height_in, int width_in) : height(height_in), width(width_in) {}
  int height = 0, width = 0;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

/// Where one picture goes: upright pixels are scaled and moved onto a canvas, which `warp` takes to
/// the output. On the canvas, pictures are scaled with antialiasing; a `warp` that does not keep
/// the axes samples the canvas bilinearly, without antialiasing, as torchvision does after a
/// resize. Otherwise both are done as one scaling.
struct Placement {
  Rect shown = {};  ///< the part of the upright picture that is seen, in its pixels
  double scale_x = 1, scale_y = 1;
  double move_x = 0, move_y = 0;
  Matrix warp = {};  ///< from the canvas to the output

  Matrix to_canvas() const { return Matrix::affine(scale_x, 0, move_x, 0, scale_y, move_y); }
  /// From the upright picture to the output.
  Matrix matrix() const { return warp * to_canvas(); }
};

}  // namespace packhorse::reader
