#include "drawing/object_mask.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <span>
#include <vector>

#include "packhorse/targets/run_lengths.h"

namespace packhorse::drawing {

namespace {

constexpr double kOpacity = 0.4;
constexpr int kStripe = 4;             // pixels, of a hatched mask
constexpr int kShift = 4;              // OpenCV's corners are in 1/16 of a pixel
constexpr double kFarthest = 1 << 14;  // pixels

/// What is inside of a mask of run lengths, asked pixel by pixel without drawing it.
class RunsLookup {
 public:
  RunsLookup(std::span<const std::uint32_t> counts, MaskSize size) : size_(size) {
    std::uint64_t end = 0;
    for (const std::uint32_t count : counts) ends_.push_back(end += count);
  }
  bool inside(Point at) const {
    const double x = std::floor(at.x), y = std::floor(at.y);
    if (x < 0 || y < 0 || x >= size_.width || y >= size_.height) return false;
    const auto pixel = static_cast<std::uint64_t>(x) * size_.height + static_cast<std::uint64_t>(y);
    const auto run = std::upper_bound(ends_.begin(), ends_.end(), pixel);
    return (run - ends_.begin()) % 2 != 0;
  }

 private:
  MaskSize size_;
  std::vector<std::uint64_t> ends_;
};

/// The pixels of a picture of `size` that points between these two corners may lie in.
cv::Rect around(Point a, Point b, cv::Size size) {
  const auto low = [](double x, double y, int most) {
    return static_cast<int>(std::floor(std::clamp<double>(std::min(x, y) - 1, 0, most)));
  };
  const auto high = [](double x, double y, int most) {
    return static_cast<int>(std::ceil(std::clamp<double>(std::max(x, y) + 1, 0, most)));
  };
  return {cv::Point(low(a.x, b.x, size.width), low(a.y, b.y, size.height)),
          cv::Point(high(a.x, b.x, size.width), high(a.y, b.y, size.height))};
}

/// OpenCV means the centre of a pixel by whole numbers.
cv::Point fixed_point(Point at) {
  const auto fixed = [](double x) {
    return static_cast<int>(std::lround(std::clamp(x - .5, -kFarthest, kFarthest) * (1 << kShift)));
  };
  return {fixed(at.x), fixed(at.y)};
}

}  // namespace

void ObjectMask::clear() {
  if (seen_.area() > 0) inside_(seen_).setTo(0);
  seen_ = {};
}

bool ObjectMask::set_polygons(const Objects& placed, std::size_t i) {
  if (placed.polygons.empty() || placed.polygons[i] == placed.polygons[i + 1]) return false;
  clear();
  for (std::uint32_t p = placed.polygons[i]; p < placed.polygons[i + 1]; ++p) {
    const auto corners = std::span(placed.outlines)
                             .subspan(placed.points[p], placed.points[p + 1] - placed.points[p]);
    if (corners.empty()) continue;
    std::vector<std::vector<cv::Point>> polygon(1);
    Point least = corners.front(), most = corners.front();
    for (const Point& corner : corners) {
      polygon.front().push_back(fixed_point(corner));
      least = {std::min(least.x, corner.x), std::min(least.y, corner.y)};
      most = {std::max(most.x, corner.x), std::max(most.y, corner.y)};
    }
    cv::fillPoly(inside_, polygon, cv::Scalar(255), cv::LINE_8, kShift);
    seen_ |= around(least, most, inside_.size());
  }
  return true;
}

bool ObjectMask::set_runs(const Objects& stored, std::size_t i, const PixelMap& map,
                          MaskSize size) {
  if (stored.runs.empty() || stored.runs[i] == stored.runs[i + 1]) return false;
  clear();
  const auto counts =
      std::span(stored.counts).subspan(stored.runs[i], stored.runs[i + 1] - stored.runs[i]);
  check_run_lengths(counts, size);
  const Box box = box_of(counts, size);
  if (box == Box{}) return true;
  seen_ =
      around(map.apply({box.left, box.top}), map.apply({box.right, box.bottom}), inside_.size());
  const RunsLookup runs(counts, size);
  for (int y = seen_.y; y < seen_.y + seen_.height; ++y) {
    for (int x = seen_.x; x < seen_.x + seen_.width; ++x)
      inside_.at<std::uint8_t>(y, x) = runs.inside(map.undo({x + .5, y + .5})) ? 255 : 0;
  }
  return true;
}

void ObjectMask::fill(cv::Mat& picture, const cv::Scalar& colour, bool hatched) const {
  for (int y = seen_.y; y < seen_.y + seen_.height; ++y) {
    for (int x = seen_.x; x < seen_.x + seen_.width; ++x) {
      if (inside_.at<std::uint8_t>(y, x) == 0 || (hatched && (x + y) / kStripe % 2 != 0)) continue;
      auto& pixel = picture.at<cv::Vec3b>(y, x);
      for (int c = 0; c < 3; ++c)
        pixel[c] =
            cv::saturate_cast<std::uint8_t>(pixel[c] * (1 - kOpacity) + colour[c] * kOpacity);
    }
  }
}

void ObjectMask::outline(cv::Mat& picture, const cv::Scalar& colour, int line) {
  if (seen_.area() == 0) return;
  std::vector<std::vector<cv::Point>> contours;
  cv::findContours(inside_(seen_), contours, cv::RETR_CCOMP, cv::CHAIN_APPROX_NONE, seen_.tl());
  cv::drawContours(picture, contours, -1, colour, line);
}

}  // namespace packhorse::drawing
