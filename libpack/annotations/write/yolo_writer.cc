#include "annotations/write/yolo_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "annotations/write/object_parts.h"
#include "base/json.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// Coordinates as shares of an image's width and height.
class Shares {
 public:
  explicit Shares(const ImageInfo& image) : width_(image.width), height_(image.height) {}

  std::string box(const Box& box) const {
    const double left = box.left, top = box.top, right = box.right, bottom = box.bottom;
    return fmt::format(" {} {} {} {}", (left + right) / 2 / width_, (top + bottom) / 2 / height_,
                       (right - left) / width_, (bottom - top) / height_);
  }
  std::string point(double x, double y) const {
    return fmt::format(" {} {}", x / width_, y / height_);
  }
  bool holds(const Box& box) const {
    return box.left >= 0 && box.top >= 0 && box.right <= width_ && box.bottom <= height_;
  }

 private:
  double width_, height_;
};

void count_unsaid(const ObjectParts& object, bool as_polygon, const Shares& shares,
                  Unsaid& unsaid) {
  if (!object.area.empty()) ++unsaid["areas"];
  if (!object.counts.empty()) ++unsaid["masks of run lengths, written as boxes"];
  if ((object.flags & (kDifficult | kTruncated | kOccluded)) != 0)
    ++unsaid["objects that are difficult, truncated or occluded, written as any other"];
  if (object.polygons() > 0 && !object.keypoints.empty())
    ++unsaid["outlines, which have no place beside key points"];
  else if (object.polygons() > 1)
    ++unsaid["outlines of several parts, written as boxes"];
  if (as_polygon && !is_box_of_polygons(object))
    ++unsaid["boxes that are not those around their outlines"];
  if (!shares.holds(object.box)) ++unsaid["boxes beyond their image, which others may refuse"];
}

std::string line_of(const ObjectParts& object, const Shares& shares, Unsaid& unsaid) {
  const bool as_polygon = object.keypoints.empty() && object.polygons() == 1;
  count_unsaid(object, as_polygon, shares, unsaid);
  std::string line = std::to_string(object.label);
  if (as_polygon) {
    for (const Point& point : object.polygon(0)) line += shares.point(point.x, point.y);
    return line + '\n';
  }
  line += shares.box(object.box);
  for (const Keypoint& point : object.keypoints)
    line += shares.point(point.x, point.y) + fmt::format(" {}", point.visibility);
  return line + '\n';
}

}  // namespace

fs::path YoloWriter::images() const { return fs::path("images") / dataset_.split; }

std::optional<NotationWriter::OwnFile> YoloWriter::own_file(const NotedSample& sample,
                                                            Unsaid& unsaid) const {
  const Shares shares(sample.image);
  std::string text;
  for (std::size_t i = 0; i < sample.objects.size(); ++i) {
    const ObjectParts object(sample.objects, i);
    if ((object.flags & kCrowd) != 0)
      ++unsaid["crowds, left out"];
    else
      text += line_of(object, shares, unsaid);
  }
  fs::path path = fs::path("labels") / dataset_.split / sample.place;
  return OwnFile{path.replace_extension(".txt"), std::move(text)};
}

std::string yolo_data(const std::vector<std::string>& splits, const TargetRecord& target) {
  std::string text;
  for (const std::string& split : splits)
    text += split.empty() ? "train: images\n" : fmt::format("{0}: images/{0}\n", split);
  text += fmt::format("nc: {}\n", target.classes.size());
  if (!target.keypoints.empty())
    text += fmt::format("kpt_shape: [{}, 3]\n", target.keypoints.size());
  text += "names:\n";
  for (std::size_t label = 0; label < target.classes.size(); ++label)
    text += fmt::format("  {}: {}\n", label, utf8_json(nlohmann::json(target.classes[label])));
  return text;
}

}  // namespace packhorse
