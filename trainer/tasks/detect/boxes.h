#pragma once

#include <ATen/core/Tensor.h>

#include "tasks/detect/true_boxes.h"

namespace packhorse::trainer {

/// Intersection over union of boxes [..., 4] given by centre x, y, width and height; the leading
/// dimensions are broadcast. Boxes without an area overlap nothing.
at::Tensor overlaps_of(const at::Tensor& a, const at::Tensor& b);

/// Greedy non-maximum suppression (Felzenszwalb et al. 2010), within each label: the numbers of
/// boxes, by falling score, that overlap no kept one of their label by more than `threshold`. Of
/// equal scores the lower number goes first. No more than `most`: the surest. `corners` float
/// [N, 4]: left, top, right, bottom; `scores` float [N]; `labels` int64 [N]; all on the CPU.
/// Returns int64 [kept].
at::Tensor suppress_overlaps(const at::Tensor& corners, const at::Tensor& scores,
                             const at::Tensor& labels, double threshold, std::int64_t most);

// What the losses of detectors have in common.

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
