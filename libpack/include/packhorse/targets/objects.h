#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "packhorse/base/bytes.h"

/// The objects in an image: boxes, and what may come with each. Coordinates are pixels of the image
/// as stored, before its EXIF orientation: the pixel in column x and row y covers [x, x + 1) x
/// [y, y + 1), so that a box around the whole image is (0, 0, width, height).
namespace packhorse {

/// Of an outline. Double, as polygons become masks by rounding: 0.7 as a float gives another mask.
struct Point {
  double x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

/// Corners, as torchvision's XYXY.
struct Box {
  float left = 0, top = 0, right = 0, bottom = 0;
  friend bool operator==(const Box&, const Box&) = default;
};

struct Keypoint {
  float x = 0, y = 0;
  float visibility = 0;  ///< COCO's: 0 not labelled, 1 labelled and hidden, 2 visible
  friend bool operator==(const Keypoint&, const Keypoint&) = default;
};

/// Bits of Objects::flags.
enum ObjectFlag : std::uint8_t {
  kCrowd = 1,      ///< COCO's iscrowd: many objects in one mask
  kDifficult = 2,  ///< Pascal VOC's
  kTruncated = 4,  ///< Pascal VOC's: the object goes on beyond the box
  kOccluded = 8    ///< Pascal VOC's
};

/// Column by column. A column that no object of the image has is empty; `boxes`, `labels` and
/// `flags` have one value for each object.
struct Objects {
  std::vector<Box> boxes;
  std::vector<std::int32_t> labels;  ///< places in the class list
  std::vector<std::uint8_t> flags;   ///< ObjectFlag
  std::vector<float> areas;          ///< in pixels, as the annotations say

  /// Outlines: object i has the polygons [polygons[i], polygons[i + 1]), polygon p the points
  /// [points[p], points[p + 1]) of `outlines`.
  std::vector<std::uint32_t> polygons, points;
  std::vector<Point> outlines;
  /// Masks as run lengths (run_lengths.h): object i has the counts [runs[i], runs[i + 1]). An
  /// object has polygons, or a mask, or neither.
  std::vector<std::uint32_t> runs, counts;

  std::vector<Keypoint> keypoints;            ///< `keypoints_each` for each object
  std::vector<std::uint32_t> keypoints_each;  ///< one number, or none

  std::size_t size() const { return boxes.size(); }
  friend bool operator==(const Objects&, const Objects&) = default;
};

/// Refuses masks and outlines that take more work than the image they are of: together they may
/// cover `size` (height and width) 1024 times, and outlines may be 1024 times as long as both its
/// sides. A small file can hold far more. Throws Error(kUnsupported).
void check_masks(const Objects& objects, std::uint32_t height, std::uint32_t width);

/// The bytes in which a shard holds them (docs/formats/objects.md): the columns that are not empty,
/// little-endian, one after the other.
std::vector<std::byte> encode_objects(const Objects& objects);

/// The columns inside a field's bytes, at any alignment: for copies of whole columns.
struct ObjectColumns {
  std::size_t size = 0;  ///< objects
  Bytes boxes, labels, flags, areas, polygons, points, outlines, runs, counts, keypoints,
      keypoints_each;
};

/// Finds the columns in `field`, without a copy. Throws Error(kCorrupt) unless they fit each other,
/// every number is finite and every offset is inside its column. It does not know how many classes
/// there are, nor the image's size.
ObjectColumns find_objects(Bytes field);
/// A copy of the columns.
Objects decode_objects(Bytes field);

}  // namespace packhorse
