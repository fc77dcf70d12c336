#pragma once

#include "packhorse/trainer/tasks/task.h"

namespace packhorse::trainer {

/// Several classes a picture, or none: binary cross entropy of each class, also with Mixup, CutMix
/// and targets between 0 and 1; mean average precision.
std::unique_ptr<const Task> make_multilabel(const Recipe& recipe);

}  // namespace packhorse::trainer
