#include "packhorse/reader/geometry.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

/// From the unit square's corners, clockwise from the top left, to four points (Heckbert 1989,
/// "Fundamentals of Texture Mapping and Image Warping", 2.2.3).
Matrix from_square(const std::array<Point, 4>& to) {
  const auto& [a, b, c, d] = to;
  const double dx1 = b.x - c.x, dx2 = d.x - c.x, sx = a.x - b.x + c.x - d.x;
  const double dy1 = b.y - c.y, dy2 = d.y - c.y, sy = a.y - b.y + c.y - d.y;
  const double area = dx1 * dy2 - dx2 * dy1;
  const double g = (sx * dy2 - dx2 * sy) / area, h = (dx1 * sy - sx * dy1) / area;
  return {{b.x - a.x + g * b.x, d.x - a.x + h * d.x, a.x,  //
           b.y - a.y + g * b.y, d.y - a.y + h * d.y, a.y,  //
           g, h, 1}};
}

}  // namespace

Matrix Matrix::scaling(double x, double y) { return affine(x, 0, 0, 0, y, 0); }
Matrix Matrix::translation(double x, double y) { return affine(1, 0, x, 0, 1, y); }
Matrix Matrix::affine(double a, double b, double x, double c, double d, double y) {
  return {{a, b, x, c, d, y, 0, 0, 1}};
}

Matrix Matrix::turned(double degrees, double scale, double shear_x, double shear_y) {
  if (degrees == 0 && shear_x == 0 && shear_y == 0) return scaling(scale, scale);
  constexpr double kDegree = std::numbers::pi / 180;
  const double turn = degrees * kDegree, x = shear_x * kDegree, y = shear_y * kDegree;
  const double a = std::cos(turn - y) / std::cos(y), c = std::sin(turn - y) / std::cos(y);
  const double b = -a * std::tan(x) - std::sin(turn), d = -c * std::tan(x) + std::cos(turn);
  return affine(scale * a, scale * b, 0, scale * c, scale * d, 0);
}

Matrix Matrix::turning(const ImageInfo& image) {
  const Turn turn = image.turn();
  Matrix made = affine(turn.flip_x ? -1 : 1, 0, turn.flip_x ? image.width : 0, 0,
                       turn.flip_y ? -1 : 1, turn.flip_y ? image.height : 0);
  if (turn.swap) std::swap_ranges(made.m.begin(), made.m.begin() + 3, made.m.begin() + 3);
  return made;
}

Matrix Matrix::from_corners(const std::array<Point, 4>& from, const std::array<Point, 4>& to) {
  Matrix made = from_square(to) * from_square(from).inverse();
  for (double& value : made.m) value /= made.m[8];
  if (!std::ranges::all_of(made.m, [](double v) { return std::isfinite(v); }))
    throw Error(ErrorKind::kUsage, "no perspective takes these four points to those");
  return made;
}

Point Matrix::operator()(Point p) const {
  const double x = m[0] * p.x + m[1] * p.y + m[2], y = m[3] * p.x + m[4] * p.y + m[5];
  if (is_affine()) return {x, y};
  const double w = m[6] * p.x + m[7] * p.y + m[8];
  return {x / w, y / w};
}

Matrix Matrix::operator*(const Matrix& first) const {
  Matrix made;
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t column = 0; column < 3; ++column) {
      made.m[row * 3 + column] = m[row * 3] * first.m[column] +
                                 m[row * 3 + 1] * first.m[3 + column] +
                                 m[row * 3 + 2] * first.m[6 + column];
    }
  }
  return made;
}

Matrix Matrix::inverse() const {
  const auto& [a, b, c, d, e, f, g, h, i] = m;
  const double determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
  if (determinant == 0 || !std::isfinite(determinant))
    throw Error(ErrorKind::kUsage, "a picture cannot be placed by a matrix without an inverse");
  Matrix made{{e * i - f * h, c * h - b * i, b * f - c * e,  //
               f * g - d * i, a * i - c * g, c * d - a * f,  //
               d * h - e * g, b * g - a * h, a * e - b * d}};
  for (double& value : made.m) value /= determinant;
  return made;
}

Rect overlap(const Rect& a, const Rect& b) {
  return {std::max(a.left, b.left), std::max(a.top, b.top), std::min(a.right, b.right),
          std::min(a.bottom, b.bottom)};
}

Rect around(const Matrix& matrix, const Rect& rect) {
  const Point first = matrix({rect.left, rect.top});
  Rect made{first.x, first.y, first.x, first.y};
  for (const Point corner : {Point{rect.right, rect.top}, Point{rect.right, rect.bottom},
                             Point{rect.left, rect.bottom}}) {
    const Point p = matrix(corner);
    made = {std::min(made.left, p.x), std::min(made.top, p.y), std::max(made.right, p.x),
            std::max(made.bottom, p.y)};
  }
  return made;
}

}  // namespace packhorse::reader
