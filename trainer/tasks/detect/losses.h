#pragma once

#include <ATen/core/Tensor.h>

#include "tasks/detect/true_boxes.h"

/// What the losses of detectors have in common.
namespace packhorse::trainer {

/// What each place is to find, [B, A, ...]. Places without an object have one box on both sides,
/// whatever is predicted, so that they add nothing, and nothing that is not a number.
struct Targets {
  at::Tensor boxes;   ///< float [B, A, 4]
  at::Tensor labels;  ///< int64 [B, A]; 0 without an object
  at::Tensor ours;    ///< the predicted boxes; those of places without an object without gradient
};
/// `object` int64 [B, A]: rows of `truth`, -1 for none; `boxes` [B, A, 4]: predicted.
Targets targets_of(const at::Tensor& object, const TrueBoxes& truth, const at::Tensor& boxes);

/// Binary cross entropy, of each element.
at::Tensor cross_entropies(const at::Tensor& logits, const at::Tensor& targets);

}  // namespace packhorse::trainer
