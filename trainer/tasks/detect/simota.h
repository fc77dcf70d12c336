#pragma once

#include <ATen/core/Tensor.h>

#include "models/anchor_points.h"
#include "tasks/detect/true_boxes.h"

namespace packhorse::trainer {

/// Which place is to find which object.
struct Assignment {
  at::Tensor object;   ///< int64 [B, A]: the row in TrueBoxes; -1: none
  at::Tensor overlap;  ///< float [B, A]: of the place's box with that object's; 0: none
};

/// SimOTA (Ge et al. 2021, section 2.1): an object takes the places around its middle whose
/// predictions fit it best, as many as the sum of its ten best overlaps, at least one; a place that
/// several objects want goes to the one that it costs least. Places are those less than 1.5 cells
/// from the middle of any object. All on the predictions' device, without waiting for it.
///
/// `predictions` [B, A, 5 + classes] as detectors give them; `most_pairs` as parts_of() takes it.
Assignment assign_simota(const at::Tensor& predictions, const TrueBoxes& truth,
                         const AnchorPoints& points, std::int64_t most_pairs = kMostPairs);

}  // namespace packhorse::trainer
