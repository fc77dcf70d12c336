#include "tasks/detect/yolox_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include <vector>

#include "tasks/detect/boxes.h"

namespace packhorse::trainer {

namespace {

constexpr double kBoxLossWeight = 5;

/// Boxes relative to the places, as the network's last layer gives them.
at::Tensor offsets_of(const at::Tensor& boxes, const AnchorPoints& points) {
  const std::vector<at::Tensor> offsets = {(boxes.select(2, 0) - points.x) / points.stride + 0.5,
                                           (boxes.select(2, 1) - points.y) / points.stride + 0.5,
                                           (boxes.select(2, 2) / points.stride + 1e-8).log(),
                                           (boxes.select(2, 3) / points.stride + 1e-8).log()};
  return at::stack(offsets, 2);
}

}  // namespace

YoloxLoss yolox_loss(const at::Tensor& predictions, const TrueBoxes& truth,
                     const AnchorPoints& points, bool with_offsets) {
  const Assignment assignment = assign_simota(predictions, truth, points);
  const at::Tensor found = assignment.object >= 0;
  const at::Tensor there = found.unsqueeze(2);
  const at::Tensor count = found.sum().clamp_min(1).to(at::kFloat);
  const at::Tensor boxes = predictions.narrow(2, 0, 4);
  const at::Tensor class_logits = predictions.narrow(2, 5, predictions.size(2) - 5);
  const auto [targets, labels, ours] = targets_of(assignment.object, truth, boxes);

  YoloxLoss loss;
  loss.box = ((1 - overlaps_of(ours, targets).square()) * found).sum() / count;
  loss.object = cross_entropies(predictions.select(2, 4), found.to(at::kFloat)).sum() / count;
  const at::Tensor wanted =
      at::zeros_like(class_logits).scatter(2, labels.unsqueeze(2), assignment.overlap.unsqueeze(2));
  loss.classes = (cross_entropies(class_logits, wanted) * there).sum() / count;
  loss.offsets =
      ((offsets_of(ours, points) - offsets_of(targets, points)).abs() * there).sum() / count;
  loss.total = kBoxLossWeight * loss.box + loss.object + loss.classes;
  if (with_offsets) loss.total = loss.total + loss.offsets;
  return loss;
}

}  // namespace packhorse::trainer
