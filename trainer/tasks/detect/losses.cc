#include <ATen/TensorOperators.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include "tasks/detect/boxes.h"

namespace packhorse::trainer {

Targets targets_of(const at::Tensor& object, const TrueBoxes& truth, const at::Tensor& boxes) {
  const at::Tensor there = (object >= 0).unsqueeze(2);
  // Boxes of places without an object may be of any size, even infinite: they do not count.
  at::Tensor targets = at::ones_like(boxes), labels = at::zeros_like(object);
  if (truth.boxes.size(1) > 0) {
    const at::Tensor rows = object.clamp_min(0);
    targets =
        at::where(there, truth.boxes.gather(1, rows.unsqueeze(2).expand({-1, -1, 4})), targets);
    labels = truth.labels.gather(1, rows);
  }
  return {targets, labels, at::where(there, boxes, targets)};
}

at::Tensor cross_entropies(const at::Tensor& logits, const at::Tensor& targets) {
  return at::binary_cross_entropy_with_logits(logits, targets, {}, {}, at::Reduction::None);
}

}  // namespace packhorse::trainer
