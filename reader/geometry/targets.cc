#include "packhorse/reader/targets.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "geometry/placed_masks.h"
#include "packhorse/base/error.h"
#include "packhorse/targets/label_image.h"
#include "targets/pixel_map.h"

namespace packhorse::reader {

namespace {

/// Puts the labels of a stored picture where its pixels go: each output pixel gets the label of the
/// stored pixel nearest to its centre, and keeps what it has where the picture is not seen.
/// `output` has a byte a pixel, row by row.
void place_labels(const LabelImage& labels, const MaskPlace& place,
                  std::span<std::uint8_t> output) {
  const Rect& shown = place.shown;
  const Rect seen = around(place.matrix, shown);
  const auto within = [](double edge, int size) {
    return static_cast<int>(std::clamp(edge, 0.0, static_cast<double>(size)));
  };
  const int left = within(std::floor(seen.left), place.output.width);
  const int right = within(std::ceil(seen.right), place.output.width);
  const int top = within(std::floor(seen.top), place.output.height);
  const int bottom = within(std::ceil(seen.bottom), place.output.height);
  const Matrix to_upright = place.matrix.inverse(), to_stored = place.turning.inverse();
  for (int y = top; y < bottom; ++y) {
    std::uint8_t* const row =
        output.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(place.output.width);
    for (int x = left; x < right; ++x) {
      const Point at = to_upright({x + .5, y + .5});
      if (!(at.x >= shown.left && at.x < shown.right && at.y >= shown.top && at.y < shown.bottom))
        continue;
      const Point stored = to_stored(at);
      const double column = std::floor(stored.x), line = std::floor(stored.y);
      if (!(column >= 0 && line >= 0 && column < labels.width && line < labels.height)) continue;
      row[x] = labels.at(static_cast<std::uint32_t>(column), static_cast<std::uint32_t>(line));
    }
  }
}

std::uint32_t size_of_column(const auto& column) {
  return static_cast<std::uint32_t>(column.size());
}

double area_of(const Rect& rect) { return rect.empty() ? 0 : rect.width() * rect.height(); }

Rect rect_of(const Box& box) { return {box.left, box.top, box.right, box.bottom}; }

Box box_of(const Rect& rect) {
  return {static_cast<float>(rect.left), static_cast<float>(rect.top),
          static_cast<float>(rect.right), static_cast<float>(rect.bottom)};
}

bool holds(const Rect& rect, Point p) {
  return p.x >= rect.left && p.x <= rect.right && p.y >= rect.top && p.y <= rect.bottom;
}

/// The values of one object in a column of offsets.
template <class T>
std::span<const T> values_of(const std::vector<std::uint32_t>& offsets,
                             const std::vector<T>& values, std::size_t i) {
  if (offsets.empty()) return {};
  return std::span(values).subspan(offsets[i], offsets[i + 1] - offsets[i]);
}

std::size_t keypoints_each(const Objects& objects) {
  return objects.keypoints_each.empty() ? 0 : objects.keypoints_each.front();
}

/// Adds objects to columns that are all there, whatever some pictures lack: offsets, areas, and key
/// points as soon as one picture has them.
class ObjectColumnsWriter {
 public:
  explicit ObjectColumnsWriter(Objects& to) : to_(to) {
    for (auto* offsets : {&to.polygons, &to.points, &to.runs}) {
      if (offsets->empty()) offsets->push_back(0);
    }
  }

  void begin(const Box& box, std::int32_t label, std::uint8_t flags, float area) {
    to_.boxes.push_back(box);
    to_.labels.push_back(label);
    to_.flags.push_back(flags);
    to_.areas.push_back(area);
  }
  void add_polygon(std::span<const Point> corners) {
    to_.outlines.insert(to_.outlines.end(), corners.begin(), corners.end());
    to_.points.push_back(size_of_column(to_.outlines));
  }
  void add_runs(std::span<const std::uint32_t> counts) {
    to_.counts.insert(to_.counts.end(), counts.begin(), counts.end());
  }
  void add_keypoint(const Keypoint& point) { to_.keypoints.push_back(point); }
  void end(std::size_t keypoints) {
    to_.polygons.push_back(size_of_column(to_.points) - 1);
    to_.runs.push_back(size_of_column(to_.counts));
    if (to_.keypoints_each.empty() && keypoints > 0) {
      to_.keypoints_each = {static_cast<std::uint32_t>(keypoints)};
      // The objects before this one have none.
      to_.keypoints.insert(to_.keypoints.begin(), (to_.size() - 1) * keypoints, Keypoint{});
    }
    to_.keypoints.resize(to_.size() * keypoints_each(to_));
  }

 private:
  Objects& to_;
};

MaskPlace place_of(const ImageInfo& info, const PicturePlan& plan, ImageSize output) {
  return {{info.height, info.width},
          plan.placement.shown,
          Matrix::turning(info),
          plan.placement.matrix(),
          output};
}

/// The classes of both, with the higher score of each.
ClassSet joined(const ClassSet& a, const ClassSet& b) {
  ClassSet all;
  for (std::size_t i = 0, j = 0; i < a.labels.size() || j < b.labels.size();) {
    const bool from_a = j == b.labels.size() || (i < a.labels.size() && a.labels[i] <= b.labels[j]);
    const bool from_b = i == a.labels.size() || (j < b.labels.size() && b.labels[j] <= a.labels[i]);
    all.labels.push_back(from_a ? a.labels[i] : b.labels[j]);
    if (!a.scores.empty() || !b.scores.empty()) {
      const auto score = [](const ClassSet& of, bool has, std::size_t at) {
        return has && !of.scores.empty() ? of.scores[at] : -std::numeric_limits<float>::infinity();
      };
      all.scores.push_back(std::max(score(a, from_a, i), score(b, from_b, j)));
    }
    i += from_a ? 1 : 0;
    j += from_b ? 1 : 0;
  }
  return all;
}

class Placer {
 public:
  Placer(const Objects& from, const ImageInfo& info, const PicturePlan& plan, ImageSize output,
         const TargetRules& rules, Objects& to)
      : from_(from),
        plan_(plan),
        rules_(rules),
        to_(to),
        edge_{0, 0, static_cast<double>(output.width), static_cast<double>(output.height)},
        place_(place_of(info, plan, output)) {}

  void add(std::size_t i) {
    const Rect upright = around(place_.turning, rect_of(from_.boxes[i]));
    const Point centre = {(upright.left + upright.right) / 2, (upright.top + upright.bottom) / 2};
    if (plan_.by_centre && !holds(place_.shown, centre)) return;
    const Rect part = overlap(upright, place_.shown);
    if (part.empty()) return;
    const Rect seen = overlap(around(place_.matrix, part), edge_);
    if (!(seen.width() >= rules_.min_side && seen.height() >= rules_.min_side)) return;
    const double whole = area_of(around(place_.matrix, upright));
    const double share = area_of(seen) / whole;
    if (share < rules_.min_visible) return;
    const double area = from_.areas.empty() ? area_of(upright) : from_.areas[i];
    const double scale = whole_scale(upright, whole);
    to_.begin(box_of(seen), from_.labels[i], from_.flags[i],
              static_cast<float>(area * scale * std::min(share, 1.0)));
    add_mask(i);
    add_keypoints(i);
    to_.end(keypoints_each(from_));
  }

 private:
  /// Output pixels for each stored one.
  double whole_scale(const Rect& upright, double whole) const {
    const auto& m = place_.matrix.m;
    return place_.matrix.is_affine() ? std::abs(m[0] * m[4] - m[1] * m[3])
                                     : whole / area_of(upright);
  }

  void add_mask(std::size_t i) {
    const auto runs = values_of(from_.runs, from_.counts, i);
    if (!runs.empty()) {
      check_run_lengths(runs, place_.stored);
      return to_.add_runs(place_mask(runs, place_));
    }
    if (from_.polygons.empty() || from_.polygons[i] == from_.polygons[i + 1]) return;
    if (rules_.masks == TargetRules::Masks::kRunLengths) {
      return to_.add_runs(place_mask(filled(i), place_));
    }
    for (std::uint32_t p = from_.polygons[i]; p < from_.polygons[i + 1]; ++p)
      add_polygon(values_of(from_.points, from_.outlines, p));
  }

  RunLengths filled(std::size_t i) const {
    std::vector<RunLengths> parts;
    for (std::uint32_t p = from_.polygons[i]; p < from_.polygons[i + 1]; ++p)
      parts.push_back(fill_polygon(values_of(from_.points, from_.outlines, p), place_.stored));
    return merge_masks(std::move(parts));
  }

  void add_polygon(std::span<const Point> stored) {
    std::vector<Point> corners;
    bool inside = true;
    for (const Point& corner : stored) {
      corners.push_back(place_.turning(corner));
      inside = inside && holds(place_.shown, corners.back());
    }
    if (!inside) corners = cut_polygon(corners, place_.shown);
    if (corners.empty()) return;
    for (Point& corner : corners) corner = place_.matrix(corner);
    to_.add_polygon(corners);
  }

  void add_keypoints(std::size_t i) {
    const std::size_t each = keypoints_each(from_);
    for (std::size_t k = 0; k < each; ++k) {
      const Keypoint& point = from_.keypoints[i * each + k];
      const Point upright = place_.turning({point.x, point.y}), at = place_.matrix(upright);
      const bool seen = point.visibility != 0 && holds(place_.shown, upright) && holds(edge_, at);
      to_.add_keypoint(
          seen ? Keypoint{static_cast<float>(at.x), static_cast<float>(at.y), point.visibility}
               : Keypoint{});
    }
  }

  const Objects& from_;
  const PicturePlan& plan_;
  const TargetRules& rules_;
  ObjectColumnsWriter to_;
  const Rect edge_;
  const MaskPlace place_;
};

}  // namespace

void TargetRules::validate() const {
  if (!(min_side >= 0 && std::isfinite(min_side) && min_visible >= 0 && min_visible <= 1)) {
    throw Error(ErrorKind::kUsage,
                "the least side of an object must be 0 or more, its least visible share within 0 "
                "and 1");
  }
}

std::vector<Rect> upright_boxes(const Objects& objects, const ImageInfo& info) {
  const Matrix turning = Matrix::turning(info);
  std::vector<Rect> boxes;
  for (const Box& box : objects.boxes) boxes.push_back(around(turning, rect_of(box)));
  return boxes;
}

Objects upright(Objects objects, const ImageInfo& info) {
  return map_objects(std::move(objects), upright_map(info), {info.height, info.width});
}

void add_objects(const Objects& objects, const ImageInfo& info, const PicturePlan& plan,
                 ImageSize output, const TargetRules& rules, Objects& to) {
  Placer placer(objects, info, plan, output, rules, to);
  for (std::size_t i = 0; i < objects.size(); ++i) placer.add(i);
}

void add_targets(const StoredTargets& stored, const ImageInfo& info, const PicturePlan& plan,
                 ImageSize output, const TargetRules& rules, PlacedTargets& to) {
  add_objects(stored.objects, info, plan, output, rules, to.objects);
  add_words(stored.classes, stored.caption, to);
  if (stored.mask && !to.mask.empty())
    place_labels(*stored.mask, place_of(info, plan, output), to.mask);
}

void add_words(const ClassSet& classes, const std::string& caption, PlacedTargets& to) {
  to.classes = joined(to.classes, classes);
  if (!to.caption.empty() && !caption.empty()) to.caption += '\n';
  to.caption += caption;
}

void append(const Objects& objects, Objects& to) {
  ObjectColumnsWriter writer(to);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    writer.begin(objects.boxes[i], objects.labels[i], objects.flags[i], objects.areas[i]);
    for (std::uint32_t p = objects.polygons[i]; p < objects.polygons[i + 1]; ++p)
      writer.add_polygon(values_of(objects.points, objects.outlines, p));
    writer.add_runs(values_of(objects.runs, objects.counts, i));
    const std::size_t each = keypoints_each(objects);
    for (std::size_t k = 0; k < each; ++k) writer.add_keypoint(objects.keypoints[i * each + k]);
    writer.end(each);
  }
}

void cover_objects(Objects& objects, std::span<const std::uint32_t> cover, ImageSize output) {
  const MaskSize size{static_cast<std::uint32_t>(output.height),
                      static_cast<std::uint32_t>(output.width)};
  Objects left;
  ObjectColumnsWriter writer(left);
  const std::size_t each = keypoints_each(objects);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const auto runs = values_of(objects.runs, objects.counts, i);
    const RunLengths rest = runs.empty() ? RunLengths{} : subtract_mask(runs, cover);
    const std::uint64_t before = packhorse::area_of(runs), after = packhorse::area_of(rest);
    if (!runs.empty() && after == 0) continue;
    const bool covered = after != before;
    const double share = covered ? static_cast<double>(after) / static_cast<double>(before) : 1;
    writer.begin(covered ? packhorse::box_of(rest, size) : objects.boxes[i], objects.labels[i],
                 objects.flags[i], static_cast<float>(objects.areas[i] * share));
    for (std::uint32_t p = objects.polygons[i]; p < objects.polygons[i + 1]; ++p)
      writer.add_polygon(values_of(objects.points, objects.outlines, p));
    writer.add_runs(rest);
    for (std::size_t k = 0; k < each; ++k) writer.add_keypoint(objects.keypoints[i * each + k]);
    writer.end(each);
  }
  objects = std::move(left);
}

void clear(Objects& objects) {
  objects.boxes.clear(), objects.labels.clear(), objects.flags.clear(), objects.areas.clear();
  objects.polygons.clear(), objects.points.clear(), objects.outlines.clear();
  objects.runs.clear(), objects.counts.clear();
  objects.keypoints.clear(), objects.keypoints_each.clear();
}

void clear(PlacedTargets& targets, std::uint8_t ignored) {
  clear(targets.objects);
  targets.classes.labels.clear();
  targets.classes.scores.clear();
  targets.caption.clear();
  std::ranges::fill(targets.mask, ignored);
}

}  // namespace packhorse::reader
