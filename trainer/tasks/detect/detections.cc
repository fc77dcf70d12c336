#include "tasks/detect/detections.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/stack.h>

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

std::vector<Detection> of_picture(const at::Tensor& boxes, const at::Tensor& scores,
                                  const at::Tensor& labels, const DetectionRules& rules) {
  const at::Tensor usable =
      (scores >= rules.min_score).logical_and(boxes.isfinite().all(1)).nonzero().squeeze(1);
  const at::Tensor surest = std::get<1>(scores.index_select(0, usable).topk(
      std::min(rules.candidates, usable.size(0)), 0, true, /*sorted=*/true));
  const at::Tensor chosen = usable.index_select(0, surest);
  const at::Tensor corners = corners_of(boxes.index_select(0, chosen)).contiguous();
  const at::Tensor of_chosen = scores.index_select(0, chosen).contiguous();
  const at::Tensor label = labels.index_select(0, chosen).contiguous();
  const at::Tensor kept = suppress_overlaps(corners, of_chosen, label, rules.overlap);
  std::vector<Detection> found;
  for (std::int64_t k = 0; k < std::min(rules.most, kept.size(0)); ++k) {
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
                                                 const DetectionRules& rules) {
  const auto [of_class, label] = outputs.narrow(2, 5, outputs.size(2) - 5).max(2);
  const at::Tensor scores = (of_class.sigmoid() * outputs.select(2, 4).sigmoid()).cpu();
  const at::Tensor boxes = outputs.narrow(2, 0, 4).cpu(), labels = label.cpu();
  std::vector<std::vector<Detection>> found;
  for (std::int64_t i = 0; i < outputs.size(0); ++i)
    found.push_back(of_picture(boxes[i], scores[i], labels[i], rules));
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
