#include "packhorse/targets/objects.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "packhorse/targets/run_lengths.h"
#include "support/support.h"
#include "targets/pixel_map.h"

namespace packhorse {

namespace {

using test::kind_of_error;

/// Three objects: one of two polygons, one of a mask, one of neither; all with two key points.
Objects made_objects() {
  Objects objects;
  objects.boxes = {{0, 1, 10.5f, 8}, {2, 2, 4, 4}, {0, 0, 1, 1}};
  objects.labels = {2, 0, 7};
  objects.flags = {0, kCrowd, kDifficult | kTruncated};
  objects.areas = {40.25f, 4, 1};
  objects.polygons = {0, 2, 2, 2};
  objects.points = {0, 3, 7};
  objects.outlines = {{0, 1}, {10.5, 1}, {10.5, 8}, {0.7, 0.7}, {1, 0.7}, {1, 1}, {0.7, 1}};
  objects.runs = {0, 0, 3, 3};
  objects.counts = {22, 4, 94};
  objects.keypoints.resize(6, {3, 4, 2});
  objects.keypoints_each = {2};
  return objects;
}

Objects one_box() {
  Objects objects;
  objects.boxes = {{1, 2, 3, 4}};
  objects.labels = {5};
  objects.flags = {kCrowd};
  return objects;
}

ErrorKind error_of(const Objects& objects) {
  const auto bytes = encode_objects(objects);
  return kind_of_error([&] { find_objects(bytes); });
}

}  // namespace

TEST_CASE("objects: what was encoded is decoded, at any alignment") {
  for (const Objects& objects : {made_objects(), one_box(), Objects{}}) {
    const std::vector<std::byte> bytes = encode_objects(objects);
    CHECK(decode_objects(bytes) == objects);
    std::vector<std::byte> shifted(bytes.size() + 1);
    std::memcpy(shifted.data() + 1, bytes.data(), bytes.size());
    CHECK(decode_objects(Bytes(shifted).subspan(1)) == objects);
  }
}

TEST_CASE("objects: the bytes are those that the page of the format draws") {
  const std::vector<std::byte> bytes = encode_objects(one_box());
  const std::string expected = std::string("PHOBJ1\0\0", 8) +
                               std::string("\1\0\0\0\1\0\0\0\1\0\0\0", 12) + std::string(32, '\0') +
                               std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40", 16) +
                               std::string("\5\0\0\0\1\0\0\0", 8);
  CHECK(as_text(bytes) == expected);
}

TEST_CASE("objects: bytes that are cut, or have something behind them, are corrupt") {
  std::vector<std::byte> bytes = encode_objects(made_objects());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK(kind_of_error([&] { find_objects(Bytes(bytes).first(size)); }) == ErrorKind::kCorrupt);
  bytes.resize(bytes.size() + 4);
  CHECK(kind_of_error([&] { find_objects(bytes); }) == ErrorKind::kCorrupt);
}

TEST_CASE("objects: columns that do not fit each other are corrupt") {
  const auto with = [](auto change) {
    Objects objects = made_objects();
    change(objects);
    return error_of(objects);
  };
  CHECK(with([](Objects& o) { o.labels.pop_back(); }) == ErrorKind::kCorrupt);
  CHECK(with([](Objects& o) { o.flags.push_back(0); }) == ErrorKind::kCorrupt);
  CHECK(with([](Objects& o) { o.areas.pop_back(); }) == ErrorKind::kCorrupt);
  CHECK(with([](Objects& o) { o.labels[1] = -1; }) == ErrorKind::kCorrupt);
  CHECK(with([](Objects& o) { o.boxes[1].top = std::nanf(""); }) == ErrorKind::kCorrupt);
  CHECK(with([](Objects& o) { o.outlines[1].y = std::numeric_limits<double>::infinity(); }) ==
        ErrorKind::kCorrupt);
  CHECK(with([](Objects& o) { o.polygons = {0, 2, 1, 2}; }) == ErrorKind::kCorrupt);
  CHECK(with([](Objects& o) { o.polygons = {1, 2, 2, 2}; }) == ErrorKind::kCorrupt);
  CHECK(with([](Objects& o) { o.polygons = {0, 2, 2}; }) == ErrorKind::kCorrupt);
  CHECK(with([](Objects& o) { o.polygons.clear(); }) == ErrorKind::kCorrupt);
  CHECK(with([](Objects& o) { o.points.back() = 8; }) == ErrorKind::kCorrupt);
  CHECK(with([](Objects& o) { o.runs = {0, 0, 4, 4}; }) == ErrorKind::kCorrupt);
  CHECK(with([](Objects& o) { o.runs = {0, 3, 3, 3}; }) == ErrorKind::kCorrupt);  // two masks
  CHECK(with([](Objects& o) { o.keypoints.pop_back(); }) == ErrorKind::kCorrupt);
  CHECK(with([](Objects& o) { o.keypoints_each = {}; }) == ErrorKind::kCorrupt);
  CHECK(with([](Objects& o) { o.keypoints_each = {0xffffffff}; }) == ErrorKind::kCorrupt);
}

TEST_CASE("pixel map: points go where pixels go, and back") {
  const PixelMap map = {.scale_x = .5,
                        .scale_y = .25,
                        .move_x = 3,
                        .move_y = 1,
                        .turn = Turn(8),
                        .width = 20,
                        .height = 10};
  CHECK(map.apply({4, 8}) == Point{3, 15});
  CHECK(map.undo({3, 15}) == Point{4, 8});
  CHECK(PixelMap{}.changes_nothing());
  CHECK_FALSE(map.changes_nothing());
}

TEST_CASE(
    "pixel map: objects are mapped, and places of key points that are not labelled are kept") {
  Objects objects = made_objects();
  objects.keypoints[0] = {9, 9, 0};
  objects.keypoints[2].visibility = 1;
  objects.runs = {0, 0, 5, 5};
  objects.counts = {22, 4, 6, 4, 84};  // rows 2 to 5 of columns 2 and 3
  const PixelMap half = {.scale_x = .5, .scale_y = .5, .turn = Turn(4), .width = 6, .height = 5};
  const Objects mapped = map_objects(objects, half, {10, 12});
  CHECK(mapped.boxes[0] == Box{0, 1, 5.25f, 4.5f});
  CHECK(mapped.areas[1] == 1);
  CHECK(mapped.outlines[4] == Point{.5, 4.65});
  CHECK(mapped.keypoints[0] == Keypoint{9, 9, 0});
  CHECK(mapped.keypoints[1] == Keypoint{1.5f, 3, 2});
  CHECK(mapped.keypoints[2] == Keypoint{1.5f, 3, 1});
  CHECK(mapped.runs == std::vector<std::uint32_t>{0, 0, 3, 3});
  // Rows 1 and 2 of column 1, mirrored.
  CHECK(mapped.counts == RunLengths{7, 2, 21});
  CHECK(decode_objects(encode_objects(mapped)) == mapped);
}

TEST_CASE("pixel map: run lengths of another image are corrupt, not drawn beyond it") {
  const PixelMap half = {.scale_x = .5, .scale_y = .5, .width = 6, .height = 5};
  Objects objects = made_objects();
  objects.counts = {22, 400'000'000, 94};
  CHECK(kind_of_error([&] { map_objects(objects, half, {10, 12}); }) == ErrorKind::kCorrupt);
  CHECK(kind_of_error([&] { map_objects(made_objects(), half, {9, 12}); }) == ErrorKind::kCorrupt);
}

TEST_CASE("run lengths: text and counts") {
  for (const RunLengths& counts : {RunLengths{}, RunLengths{12}, RunLengths{0, 5, 7},
                                   RunLengths{3, 1, 0xffffffff, 0, 9, 1u << 31}}) {
    CHECK(parse_run_lengths(run_lengths_text(counts)) == counts);
  }
  for (const char* text : {"!", "p", "PPPPPPPPPPPP", "ooooooooooooooo", "N"})
    CHECK(kind_of_error([&] { parse_run_lengths(text); }) == ErrorKind::kCorrupt);
}

TEST_CASE("run lengths: masks are merged, measured and drawn") {
  const MaskSize size = {3, 4};
  const RunLengths a = {0, 1, 11}, b = {4, 4, 4};
  CHECK(merge_masks(a, b) == RunLengths{0, 1, 3, 4, 4});
  CHECK(merge_masks(a, RunLengths{1, 11}) == RunLengths{0, 12});
  CHECK(area_of(b) == 4);
  CHECK(box_of(b, size) == Box{1, 0, 3, 3});
  CHECK(box_of(RunLengths{12}, size) == Box{});
  std::vector<std::uint8_t> mask(12, 9);
  draw_mask(b, size, mask);
  CHECK(mask == std::vector<std::uint8_t>{0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0});
  check_run_lengths(b, size);
  CHECK(kind_of_error([&] { check_run_lengths(a, {3, 5}); }) == ErrorKind::kCorrupt);
}

TEST_CASE("run lengths: polygons of no area, on the edge, and far outside") {
  const MaskSize size = {4, 4};
  const auto filled = [&](std::vector<Point> corners) {
    return area_of(fill_polygon(corners, size));
  };
  CHECK(filled({{0, 0}, {4, 0}, {4, 4}, {0, 4}}) == 16);
  CHECK(filled({{-100, -100}, {100, -100}, {100, 100}, {-100, 100}}) == 16);
  CHECK(filled({{1, 1}, {1, 1}, {1, 1}}) == 0);
  CHECK(kind_of_error([&] { filled({{0, 0}, {1e9, 0}, {0, 1}}); }) == ErrorKind::kUnsupported);
  CHECK(kind_of_error([&] {
          filled({{0, 0}, {std::nan(""), 0}, {0, 1}});
        }) == ErrorKind::kUnsupported);
}

}  // namespace packhorse
