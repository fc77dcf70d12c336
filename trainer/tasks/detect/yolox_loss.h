#pragma once

#include <ATen/core/Tensor.h>

#include "tasks/detect/simota.h"

namespace packhorse::trainer {

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
