#include "tasks/detect/detections.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>

#include "tasks/detect/boxes.h"

namespace packhorse::trainer {

namespace {

/// float [A, 4], on the CPU: left, top, right, bottom of boxes given by centre and sides.
at::Tensor corners_of(const at::Tensor& boxes) {
  const at::Tensor middle = boxes.narrow(1, 0, 2), half = boxes.narrow(1, 2, 2) / 2;
  return at::cat({middle - half, middle + half}, 1);
}

/// Predictions that may be detections: of each level the surest, by falling score.
struct Candidates {
  at::Tensor places, labels, scores;
};

/// `scores` [A, C]: of the places of a level.
Candidates surest_of(const at::Tensor& scores, const DetectionRules& rules) {
  const at::Tensor all = scores.reshape(-1);
  const at::Tensor usable = (all >= rules.min_score).nonzero().squeeze(1);
  const auto [sorted, order] = all.index_select(0, usable).topk(
      std::min(rules.candidates, usable.size(0)), 0, true, /*sorted=*/true);
  const at::Tensor chosen = usable.index_select(0, order);
  return {chosen.floor_divide(scores.size(1)), chosen.remainder(scores.size(1)), sorted};
}

Candidates candidates_of(const at::Tensor& scores, const DetectionRules& rules) {
  if (rules.levels.empty()) return surest_of(scores, rules);
  std::vector<at::Tensor> places, labels, sorted;
  std::int64_t first = 0;
  for (const std::int64_t count : rules.levels) {
    const Candidates of_level = surest_of(scores.narrow(0, first, count), rules);
    places.push_back(of_level.places + first);
    labels.push_back(of_level.labels);
    sorted.push_back(of_level.scores);
    first += count;
  }
  return {at::cat(places), at::cat(labels), at::cat(sorted)};
}

/// Boxes [N, 4] by their corners, cut at the edge of a frame.
at::Tensor cut(const at::Tensor& corners, const reader::ImageSize& frame) {
  const auto along = [&](std::int64_t axis, int side) {
    return corners.slice(1, axis, {}, 2).clamp(0, side);
  };
  return at::stack({along(0, frame.width), along(1, frame.height)}, 2).flatten(1);
}

/// bool [A]: the box by its corners has an area in `place`.
at::Tensor reaches(const at::Tensor& corners, const reader::Rect& place) {
  const auto along = [&](std::int64_t axis, double least, double most) {
    return corners.select(1, axis + 2).clamp_max(most) > corners.select(1, axis).clamp_min(least);
  };
  return along(0, place.left, place.right) & along(1, place.top, place.bottom);
}

/// `scores` [A, C], `label_of` [A]: the one class of each place; undefined: those of the columns.
std::vector<Detection> of_picture(const at::Tensor& boxes, const at::Tensor& scores,
                                  const at::Tensor& label_of, const DetectionRules& rules,
                                  const reader::Rect* place) {
  const at::Tensor all_corners = corners_of(boxes);
  at::Tensor usable = boxes.isfinite().all(1);
  if (place) usable = usable & reaches(all_corners, *place);
  const Candidates chosen = candidates_of(at::where(usable.unsqueeze(1), scores, -1.0), rules);
  at::Tensor corners = all_corners.index_select(0, chosen.places);
  if (rules.frame.width > 0) corners = cut(corners, rules.frame);
  corners = corners.contiguous();
  const at::Tensor of_chosen = chosen.scores.contiguous();
  const at::Tensor label =
      (label_of.defined() ? label_of.index_select(0, chosen.places) : chosen.labels).contiguous();
  const at::Tensor kept = suppress_overlaps(corners, of_chosen, label, rules.overlap, rules.most);
  std::vector<Detection> found;
  for (std::int64_t k = 0; k < kept.size(0); ++k) {
    const std::int64_t i = kept.const_data_ptr<std::int64_t>()[k];
    const float* const at = corners.const_data_ptr<float>() + 4 * i;
    found.push_back(
        {.box = {at[0], at[1], double(at[2]) - double(at[0]), double(at[3]) - double(at[1])},
         .label = label.const_data_ptr<std::int64_t>()[i],
         .score = of_chosen.const_data_ptr<float>()[i]});
  }
  return found;
}

}  // namespace

std::vector<std::vector<Detection>> find_objects(const at::Tensor& outputs,
                                                 const DetectionRules& rules,
                                                 std::span<const reader::Rect> places) {
  at::Tensor of_class = outputs.narrow(2, 5, outputs.size(2) - 5), labels;
  if (!rules.every_class) {
    const auto [best, label] = of_class.max(2, /*keepdim=*/true);
    of_class = best;
    labels = label.squeeze(2).cpu();
  }
  at::Tensor scores = of_class.sigmoid() * outputs.narrow(2, 4, 1).sigmoid();
  if (rules.root) scores = scores.sqrt();
  scores = scores.cpu();
  const at::Tensor boxes = outputs.narrow(2, 0, 4).cpu();
  std::vector<std::vector<Detection>> found;
  for (std::int64_t i = 0; i < outputs.size(0); ++i)
    found.push_back(of_picture(boxes[i], scores[i], labels.defined() ? labels[i] : labels, rules,
                               places.empty() ? nullptr : &places[static_cast<std::size_t>(i)]));
  return found;
}

PlainBox in_picture(const PlainBox& box, const reader::Placement& placement, int width,
                    int height) {
  const reader::Rect whole =
      around(placement.matrix().inverse(), {box.x, box.y, box.x + box.width, box.y + box.height});
  const auto cut = [](double value, int side) { return std::clamp(value, 0.0, double(side)); };
  const double left = cut(whole.left, width), top = cut(whole.top, height);
  return {left, top, cut(whole.right, width) - left, cut(whole.bottom, height) - top};
}

}  // namespace packhorse::trainer
