#include "drawing/draw_objects.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <opencv2/imgproc.hpp>
#include <span>

#include "drawing/drawn_text.h"
#include "drawing/object_mask.h"

namespace packhorse::drawing {

namespace {

constexpr int kFarAway = 1 << 14;  // pixels; whatever is farther outside is drawn there
constexpr int kNamedSide = 400;    // of smaller pictures, only boxes with much room are named

cv::Scalar bgr(Colour colour) { return cv::Scalar(colour.blue, colour.green, colour.red); }

int whole(double coordinate) {
  return static_cast<int>(std::lround(std::clamp<double>(coordinate, -kFarAway, kFarAway)));
}

/// The pixels that a box covers, at least one.
cv::Rect pixels_of(const Box& box) {
  const int left = whole(box.left), top = whole(box.top);
  return {left, top, std::max(1, whole(box.right) - left), std::max(1, whole(box.bottom) - top)};
}

/// Where the image's pixels are in the picture.
PixelMap map_to(const cv::Mat& picture, const ImageInfo& image) {
  PixelMap map = upright_map(image);
  map.width = static_cast<std::uint32_t>(map.turn.swap ? picture.rows : picture.cols);
  map.height = static_cast<std::uint32_t>(map.turn.swap ? picture.cols : picture.rows);
  map.scale_x = double{1} * map.width / image.width;
  map.scale_y = double{1} * map.height / image.height;
  return map;
}

/// Large objects first, so that they do not cover small ones.
std::vector<std::size_t> drawing_order(const Objects& objects) {
  std::vector<std::size_t> order(objects.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto area = [&](std::size_t i) {
    const Box& box = objects.boxes[i];
    return (double{box.right} - box.left) * (double{box.bottom} - box.top);
  };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return area(a) > area(b); });
  order.resize(std::min(order.size(), kMostDrawn));
  return order;
}

/// Draws the objects of one picture; lines and letters grow with it.
class ObjectPainter {
 public:
  ObjectPainter(cv::Mat& picture, const Objects& objects)
      : picture_(picture),
        objects_(objects),
        side_(std::max(picture.cols, picture.rows)),
        line_(std::max(1, (side_ + 300) / 400)),
        letters_{std::clamp(side_ / 1400.0, 0.38, 4.0), std::max(1, (side_ + 300) / 1000)} {}

  cv::Scalar colour(std::size_t i) const {
    return bgr(class_colour(static_cast<std::size_t>(objects_.labels[i])));
  }
  bool crowd(std::size_t i) const { return (objects_.flags[i] & kCrowd) != 0; }

  void mask(std::size_t i, ObjectMask& mask) {
    mask.fill(picture_, colour(i), crowd(i));
    mask.outline(picture_, colour(i), line_);
  }

  /// The line is inside of the box.
  void box(std::size_t i) {
    const cv::Rect box = pixels_of(objects_.boxes[i]);
    const int line = std::min({line_, (box.width + 1) / 2, (box.height + 1) / 2});
    side({box.x, box.y, box.width, line}, i);
    side({box.x, box.y + box.height - line, box.width, line}, i);
    side({box.x, box.y, line, box.height}, i);
    side({box.x + box.width - line, box.y, line, box.height}, i);
  }

  void keypoints(std::size_t i) {
    if (objects_.keypoints_each.empty()) return;
    const std::size_t each = objects_.keypoints_each.front();
    for (const Keypoint& point : std::span(objects_.keypoints).subspan(i * each, each)) {
      if (point.visibility <= 0) continue;
      const cv::Point at(whole(point.x - .5), whole(point.y - .5));
      const int radius = 1 + 2 * line_;
      const bool hidden = point.visibility < 2;
      cv::circle(picture_, at, radius + 1, {255, 255, 255}, hidden ? 1 : cv::FILLED, cv::LINE_AA);
      cv::circle(picture_, at, radius, colour(i), hidden ? line_ : cv::FILLED, cv::LINE_AA);
    }
  }

  /// Writes an object's name above its box, inside, or below, where no other name is.
  void name(std::size_t i, const std::string& full_name) {
    const cv::Rect box = pixels_of(objects_.boxes[i]);
    const int pad = 2 * line_;
    const std::string text = fitting(drawable(full_name), picture_.cols / 2, letters_);
    const cv::Size size(text_width(text, letters_) + 2 * pad,
                        static_cast<int>(std::ceil(22 * letters_.scale)) + 2 * pad);
    if (side_ < kNamedSide && (2 * size.width > box.width || 3 * size.height > box.height)) return;
    const int x = std::clamp(box.x, 0, std::max(0, picture_.cols - size.width));
    for (const int y :
         {box.y - size.height, box.y, box.y + box.height - size.height, box.y + box.height}) {
      const cv::Rect place({x, y}, size);
      if (y < 0 || y + size.height > picture_.rows || taken(place)) continue;
      names_.push_back(place);
      cv::rectangle(picture_, place, colour(i), cv::FILLED);
      const Colour ink = ink_on(class_colour(static_cast<std::size_t>(objects_.labels[i])));
      write(picture_, text, {place.x + pad, place.y + place.height - pad - line_}, size.width,
            bgr(ink), letters_);
      return;
    }
  }

 private:
  /// One side of a box; of a crowd, dashed.
  void side(const cv::Rect& whole_side, std::size_t i) {
    const cv::Rect seen = whole_side & cv::Rect({0, 0}, picture_.size());
    const int dash = crowd(i) ? 4 * line_ : kFarAway * 4;
    const bool across = whole_side.width >= whole_side.height;
    const int end = across ? seen.width : seen.height;
    for (int at = 0; at < end; at += 2 * dash) {
      const int length = std::min(dash, end - at);
      cv::rectangle(picture_,
                    across ? cv::Rect(seen.x + at, seen.y, length, seen.height)
                           : cv::Rect(seen.x, seen.y + at, seen.width, length),
                    colour(i), cv::FILLED);
    }
  }

  bool taken(const cv::Rect& place) const {
    return std::ranges::any_of(names_,
                               [&](const cv::Rect& other) { return (other & place).area() > 0; });
  }

  cv::Mat& picture_;
  const Objects& objects_;
  int side_, line_;
  TextSize letters_;
  std::vector<cv::Rect> names_;
};

}  // namespace

void draw_objects(cv::Mat& picture, const Objects& objects, const ImageInfo& image,
                  const std::function<std::string(std::size_t)>& name_of) {
  const PixelMap map = map_to(picture, image);
  Objects placed = objects;
  placed.runs = placed.counts = {};  // as they are stored they can be asked pixel by pixel
  placed = map_objects(std::move(placed), map, {image.height, image.width});
  ObjectPainter painter(picture, placed);
  const std::vector<std::size_t> order = drawing_order(placed);
  ObjectMask mask(picture.size());
  for (const std::size_t i : order) {
    const bool outlined = mask.set_polygons(placed, i);
    if (outlined || mask.set_runs(objects, i, map, {image.height, image.width}))
      painter.mask(i, mask);
  }
  for (const std::size_t i : order) painter.box(i);
  for (const std::size_t i : order) painter.keypoints(i);
  for (const std::size_t i : order) painter.name(i, name_of(i));
}

}  // namespace packhorse::drawing
