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

/// What training YOLOX lessens; each a scalar, over the number of places with an object, at least
/// one.
struct YoloxLoss {
  at::Tensor box;      ///< 1 - overlap^2
  at::Tensor object;   ///< binary cross entropy of whether there is an object, at all places
  at::Tensor classes;  ///< binary cross entropy with the overlap as target of the right class
  at::Tensor offsets;  ///< L1 of the raw boxes; counts in the last epochs only
  at::Tensor total;
};

/// `predictions` float [B, A, 5 + classes], as detectors give them. `with_offsets` adds that loss
/// to the total.
YoloxLoss yolox_loss(const at::Tensor& predictions, const TrueBoxes& truth,
                     const AnchorPoints& points, bool with_offsets);

}  // namespace packhorse::trainer
