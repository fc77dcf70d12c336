#pragma once

#include <ATen/core/Tensor.h>

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

}  // namespace packhorse::trainer
