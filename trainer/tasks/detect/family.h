#pragma once

#include "packhorse/trainer/recipe/recipe.h"
#include "tasks/detect/detections.h"
#include "tasks/detect/true_boxes.h"

namespace packhorse::trainer {

/// What differs between kinds of detectors, beside the network.
struct DetectorFamily {
  /// A scalar, from the predictions for pictures of `side` x `side` pixels. `last_epochs`: those
  /// without a mosaic.
  at::Tensor (*loss)(const at::Tensor& predictions, const TrueBoxes& truth, std::int64_t side,
                     bool last_epochs);
  bool last_epochs_differ;  ///< in their loss
  /// Which predictions for pictures of that size are detections when a dataset is scored.
  DetectionRules (*rules)(std::int64_t height, std::int64_t width);
};

const DetectorFamily& family_of(const Recipe& recipe);

}  // namespace packhorse::trainer
