#include "packhorse/reader/targets.h"

#include <doctest/doctest.h>

#include "packhorse/reader/augment.h"
#include "packhorse/targets/run_lengths.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace {

ImageInfo picture_of(std::uint32_t width, std::uint32_t height) {
  ImageInfo info;
  info.width = width;
  info.height = height;
  info.orientation = 1;
  return info;
}

Objects boxes_of(std::vector<Box> boxes) {
  Objects objects;
  objects.labels.resize(boxes.size());
  objects.flags.resize(boxes.size());
  objects.boxes = std::move(boxes);
  return objects;
}

/// What becomes of objects in a picture of 100 x 50 of which the middle 50 x 50 is shown twice as
/// large.
Objects placed(const Objects& objects, const TargetRules& rules = {}, bool flip = false) {
  PicturePlan plan;
  plan.placement = placement_of(
      {.x = 25, .w = 50, .h = 50, .scaled_w = 100, .scaled_h = 100, .flip = flip}, 100);
  Objects to;
  add_objects(objects, picture_of(100, 50), plan, {100, 100}, rules, to);
  return to;
}

}  // namespace

TEST_CASE("targets: boxes are moved, cut at the edge, and dropped where too little is left") {
  const Objects objects =
      boxes_of({{30, 10, 40, 20}, {15, 0, 35, 10}, {0, 0, 25, 50}, {74.75F, 0, 90, 9}});
  const Objects all = placed(objects, {.min_side = 0});
  REQUIRE(all.size() == 3);  // the third touches what is seen
  CHECK(all.boxes[0] == Box{10, 20, 30, 40});
  CHECK(all.boxes[1] == Box{0, 0, 20, 20});
  CHECK(all.areas[0] == 400);
  CHECK(all.areas[1] == 400);          // half of 20 x 10, four times as large
  CHECK(placed(objects).size() == 2);  // half a pixel of the last is less than min_side
  CHECK(placed(objects, {.min_visible = .6}).size() == 1);
}

TEST_CASE("targets: a mirrored crop mirrors boxes and key points") {
  Objects objects = boxes_of({{30, 10, 40, 20}, {15, 0, 35, 10}});
  objects.keypoints = {{30, 15, 2}, {26, 1, 1}};
  objects.keypoints_each = {1};
  const Objects to = placed(objects, {}, true);
  REQUIRE(to.size() == 2);
  CHECK(to.boxes[0] == Box{70, 20, 90, 40});
  CHECK(to.boxes[1] == Box{80, 0, 100, 20});
  CHECK(to.keypoints == std::vector<Keypoint>{{90, 30, 2}, {98, 2, 1}});
}

TEST_CASE(
    "targets: polygons are cut at the edge of what is shown, key points beyond it are unseen") {
  Objects objects = boxes_of({{20, 10, 40, 20}});
  objects.polygons = {0, 1};
  objects.points = {0, 4};
  objects.outlines = {{20, 10}, {40, 10}, {40, 20}, {20, 20}};
  objects.keypoints = {{30, 15, 2}, {21, 15, 2}, {30, 15, 0}};
  objects.keypoints_each = {3};
  const Objects to = placed(objects);
  CHECK(to.outlines == std::vector<Point>{{0, 20}, {30, 20}, {30, 40}, {0, 40}});
  CHECK(to.keypoints == std::vector<Keypoint>{{10, 30, 2}, {}, {}});
}

TEST_CASE("targets: masks become run lengths of the output, by the nearest pixel") {
  Objects objects = boxes_of({{20, 10, 40, 20}});
  objects.polygons = {0, 1};
  objects.points = {0, 4};
  objects.outlines = {{20, 10}, {40, 10}, {40, 20}, {20, 20}};
  const Objects to = placed(objects, {.masks = TargetRules::Masks::kRunLengths});
  CHECK(to.outlines.empty());
  CHECK(packhorse::area_of(to.counts) == 30 * 20);
  CHECK(packhorse::box_of(to.counts, {100, 100}) == to.boxes[0]);
}

TEST_CASE("targets: run lengths of another picture are refused") {
  Objects objects = boxes_of({{20, 10, 40, 20}});
  objects.runs = {0, 1};
  objects.counts = {100 * 50 - 1};
  CHECK(kind_of_error([&] { placed(objects); }) == ErrorKind::kCorrupt);
}

TEST_CASE("targets: objects are turned as their picture, uncut") {
  // A mark in the left half's top of a picture of 4 x 2, in each orientation.
  const std::vector<Box> upright_at = {{-1, 0, 1, 1}, {3, 0, 5, 1},  {3, 1, 5, 2}, {-1, 1, 1, 2},
                                       {0, -1, 1, 1}, {1, -1, 2, 1}, {1, 3, 2, 5}, {0, 3, 1, 5}};
  for (std::uint8_t orientation = 1; orientation <= 8; ++orientation) {
    CAPTURE(orientation);
    ImageInfo info = picture_of(4, 2);
    info.orientation = orientation;
    Objects objects = boxes_of({{-1, 0, 1, 1}});
    objects.runs = {0, 2};
    objects.counts = {0, 8};
    const Objects turned = upright(objects, info);
    CHECK(turned.boxes == std::vector<Box>{upright_at[orientation - 1U]});
    CHECK(turned.counts == objects.counts);
    const Matrix matrix = Matrix::turning(info);
    const Rect same = around(matrix, {-1, 0, 1, 1});
    CHECK(turned.boxes.front() == Box{static_cast<float>(same.left), static_cast<float>(same.top),
                                      static_cast<float>(same.right),
                                      static_cast<float>(same.bottom)});
  }
}

TEST_CASE("targets: objects with and without key points are joined") {
  Objects with = boxes_of({{30, 10, 40, 20}});
  with.keypoints = {{30, 15, 2}};
  with.keypoints_each = {1};
  Objects all = placed(boxes_of({{30, 10, 40, 20}}));
  append(placed(with), all);
  append(placed(boxes_of({{30, 10, 40, 20}})), all);
  CHECK(all.size() == 3);
  CHECK(all.keypoints == std::vector<Keypoint>{{}, {10, 30, 2}, {}});
  CHECK(all.polygons.size() == 4);
}

TEST_CASE("targets: what covers an object takes its pixels, box and area") {
  Objects objects = boxes_of({{25, 0, 75, 50}, {30, 0, 35, 10}});
  objects.polygons = {0, 1, 2};
  objects.points = {0, 4, 8};
  objects.outlines = {{25, 0}, {75, 0}, {75, 50}, {25, 50}, {30, 0}, {35, 0}, {35, 10}, {30, 10}};
  Objects to = placed(objects, {.masks = TargetRules::Masks::kRunLengths});
  const RunLengths left_half = {0, 50 * 100, 50 * 100};
  cover_objects(to, left_half, {100, 100});
  REQUIRE(to.size() == 1);  // nothing is left of the second
  CHECK(to.boxes[0] == Box{50, 0, 100, 100});
  CHECK(to.areas[0] == 5000);
}

}  // namespace packhorse::reader::test
