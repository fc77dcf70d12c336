#include "targets/pixel_map.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "image/picture.h"

namespace packhorse {

namespace {

Box map_box(const Box& box, const PixelMap& map) {
  const Point a = map.apply({box.left, box.top}), b = map.apply({box.right, box.bottom});
  return {static_cast<float>(std::min(a.x, b.x)), static_cast<float>(std::min(a.y, b.y)),
          static_cast<float>(std::max(a.x, b.x)), static_cast<float>(std::max(a.y, b.y))};
}

/// What is inside of a mask, asked pixel by pixel.
class DrawnMask {
 public:
  DrawnMask(std::span<const std::uint32_t> counts, MaskSize size)
      : size_(size), pixels_(size.pixels()) {
    check_run_lengths(counts, size);
    draw_mask(counts, size, pixels_);
  }
  bool inside(Point at) const {
    const double x = std::floor(at.x), y = std::floor(at.y);
    if (x < 0 || y < 0 || x >= size_.width || y >= size_.height) return false;
    return pixels_[static_cast<std::size_t>(y) * size_.width + static_cast<std::size_t>(x)] != 0;
  }

 private:
  MaskSize size_;
  std::vector<std::uint8_t> pixels_;
};

RunLengths map_mask(std::span<const std::uint32_t> counts, const PixelMap& map, MaskSize from) {
  const DrawnMask mask(counts, from);
  const MaskSize to =
      map.turn.swap ? MaskSize{map.width, map.height} : MaskSize{map.height, map.width};
  RunWriter mapped;
  for (std::uint64_t i = 0; i < to.pixels(); ++i) {
    const std::uint64_t column = i / to.height, row = i % to.height;
    const Point centre = {static_cast<double>(column) + .5, static_cast<double>(row) + .5};
    mapped.add(mask.inside(map.undo(centre)), 1);
  }
  return std::move(mapped).take();
}

void map_masks(Objects& objects, const PixelMap& map, MaskSize from) {
  std::vector<std::uint32_t> runs, counts;
  for (std::size_t i = 0; i < objects.runs.size(); ++i) {
    runs.push_back(static_cast<std::uint32_t>(counts.size()));
    if (i + 1 == objects.runs.size() || objects.runs[i] == objects.runs[i + 1]) continue;
    const auto own =
        std::span(objects.counts).subspan(objects.runs[i], objects.runs[i + 1] - objects.runs[i]);
    const RunLengths mapped = map_mask(own, map, from);
    counts.insert(counts.end(), mapped.begin(), mapped.end());
  }
  objects.runs = std::move(runs);
  objects.counts = std::move(counts);
}

}  // namespace

bool PixelMap::changes_nothing() const {
  return scale_x == 1 && scale_y == 1 && move_x == 0 && move_y == 0 && !turn.any();
}

Point PixelMap::apply(Point point) const {
  double x = point.x * scale_x + move_x, y = point.y * scale_y + move_y;
  if (turn.flip_x) x = width - x;
  if (turn.flip_y) y = height - y;
  return turn.swap ? Point{y, x} : Point{x, y};
}

Point PixelMap::undo(Point point) const {
  double x = turn.swap ? point.y : point.x, y = turn.swap ? point.x : point.y;
  if (turn.flip_x) x = width - x;
  if (turn.flip_y) y = height - y;
  return {(x - move_x) / scale_x, (y - move_y) / scale_y};
}

PixelMap upright_map(const ImageInfo& image) {
  return {.turn = image.turn(), .width = image.width, .height = image.height};
}

Objects map_objects(Objects objects, const PixelMap& map, MaskSize from) {
  if (map.changes_nothing()) return objects;
  for (Box& box : objects.boxes) box = map_box(box, map);
  for (float& area : objects.areas) area = static_cast<float>(area * map.scale_x * map.scale_y);
  for (Point& point : objects.outlines) point = map.apply(point);
  for (Keypoint& point : objects.keypoints) {
    if (point.visibility == 0) continue;  // its place means nothing
    const Point to = map.apply({point.x, point.y});
    point = {static_cast<float>(to.x), static_cast<float>(to.y), point.visibility};
  }
  map_masks(objects, map, from);
  return objects;
}

LabelImage map_labels(const LabelImage& image, const PixelMap& map, std::uint8_t outside) {
  const std::uint32_t width = map.turn.swap ? map.height : map.width;
  const std::uint32_t height = map.turn.swap ? map.width : map.height;
  LabelImage mapped{width, height, std::vector<std::uint8_t>(std::size_t{width} * height, outside)};
  std::size_t at = 0;
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x, ++at) {
      const Point from = map.undo({x + .5, y + .5});
      const double column = std::floor(from.x), row = std::floor(from.y);
      if (column < 0 || row < 0 || column >= image.width || row >= image.height) continue;
      mapped.labels[at] =
          image.at(static_cast<std::uint32_t>(column), static_cast<std::uint32_t>(row));
    }
  }
  return mapped;
}

}  // namespace packhorse
