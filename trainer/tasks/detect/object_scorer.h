#pragma once

#include <memory>

#include "packhorse/reader/geometry.h"
#include "tasks/detect/detections.h"
#include "tasks/task.h"

namespace packhorse::trainer {

/// How pictures are put into the network's input when nothing is left to chance.
reader::DetectionAugment letterbox(const Recipe& recipe);

/// The targets that say which objects are in the pictures. Throws Error(kUsage) where there are
/// none.
const TargetRecord& objects_of(const reader::Dataset& dataset);

/// Compares what a detector finds with the objects of the dataset.
std::unique_ptr<Scorer> make_object_scorer(const Recipe& recipe,
                                           std::shared_ptr<const reader::Dataset> dataset,
                                           ScorerOptions options);
/// Tells the observer what a detector finds in pictures of which nothing is known; has no scores.
std::unique_ptr<Scorer> make_object_teller(const Recipe& recipe, const DetectionRules& rules,
                                           std::shared_ptr<const reader::Dataset> dataset,
                                           ScorerOptions options);

}  // namespace packhorse::trainer
