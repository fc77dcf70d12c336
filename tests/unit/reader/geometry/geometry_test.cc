#include "packhorse/reader/geometry.h"

#include <doctest/doctest.h>

#include <cmath>

#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace {

bool is_near(Point a, Point b) { return std::hypot(a.x - b.x, a.y - b.y) < 1e-9; }

}  // namespace

TEST_CASE("geometry: a product applies its right side first, and an inverse takes points back") {
  const Matrix both = Matrix::translation(10, 0) * Matrix::scaling(2, 3);
  CHECK(is_near(both({1, 1}), {12, 3}));
  CHECK(is_near(both.inverse()({12, 3}), {1, 1}));
  CHECK(kind_of_error([] { Matrix::scaling(0, 1).inverse(); }) == ErrorKind::kUsage);
}

TEST_CASE("geometry: a perspective takes four corners to four points, and straight lines stay") {
  const std::array<Point, 4> from = {{{0, 0}, {9, 0}, {9, 6}, {0, 6}}};
  const std::array<Point, 4> to = {{{1, 2}, {8, 0}, {7, 6}, {0, 5}}};
  const Matrix matrix = Matrix::from_corners(from, to);
  for (std::size_t i = 0; i < 4; ++i) CHECK(is_near(matrix(from[i]), to[i]));
  CHECK_FALSE(matrix.is_affine());
  const std::array<Point, 4> line = {{{0, 0}, {1, 1}, {2, 2}, {3, 3}}};
  CHECK(kind_of_error([&] { Matrix::from_corners(from, line); }) == ErrorKind::kUsage);
}

TEST_CASE("geometry: turning takes the stored corners to the upright ones, as EXIF says") {
  // Where the stored picture's first pixel is seen: 0th row and 0th column of each orientation.
  const Point centres[] = {{.5, .5}, {39.5, .5}, {39.5, 29.5}, {.5, 29.5},
                           {.5, .5}, {29.5, .5}, {29.5, 39.5}, {.5, 39.5}};
  for (int orientation = 1; orientation <= 8; ++orientation)
    CHECK(is_near(Matrix::turning({.orientation = static_cast<std::uint8_t>(orientation),
                                   .width = 40,
                                   .height = 30})({.5, .5}),
                  centres[orientation - 1]));
}

TEST_CASE("geometry: rectangles that do not overlap share an empty one") {
  CHECK(overlap({0, 0, 4, 4}, {2, 1, 9, 9}) == Rect{2, 1, 4, 4});
  CHECK(overlap({0, 0, 4, 4}, {4, 0, 9, 9}).empty());
  CHECK(around(Matrix::affine(0, -1, 0, 1, 0, 0), {1, 2, 3, 5}) == Rect{-5, 1, -2, 3});
}

}  // namespace packhorse::reader::test
