#pragma once

#include <ATen/core/Tensor.h>

#include "models/anchor_points.h"
#include "tasks/detect/true_boxes.h"

namespace packhorse::trainer {

/// The row of TrueBoxes that each place is to find, int64 [B, A]; -1: none. A place finds the
/// smallest of the objects that it lies in, whose middle is less than 1.5 cells away and whose
/// farthest edge is within the reach of its level. `most_pairs` as parts_of() takes it.
at::Tensor assign_fcos(const TrueBoxes& truth, const FcosPoints& points,
                       std::int64_t most_pairs = kMostPairs);

/// What training FCOS lessens; each a scalar, over the number of places with an object, at least
/// one.
struct FcosLoss {
  at::Tensor classes;  ///< focal loss (Lin et al. 2017) of all classes at all places
  at::Tensor box;      ///< 1 - generalised overlap (Rezatofighi et al. 2019)
  at::Tensor centre;   ///< binary cross entropy of how near the place is to the object's middle
  at::Tensor total;
};

/// Tian et al. 2019, with torchvision's losses (torchvision.models.detection.fcos). `predictions`
/// float [B, A, 5 + classes], as detectors give them; the fifth is the nearness to the middle.
FcosLoss fcos_loss(const at::Tensor& predictions, const TrueBoxes& truth, const FcosPoints& points);

}  // namespace packhorse::trainer
