#pragma once

#include "packhorse/trainer/tasks/task.h"

namespace packhorse::trainer {

/// One class a picture: cross entropy, with label smoothing, Mixup and CutMix; top-1 and top-5.
std::unique_ptr<const Task> make_classify(const Recipe& recipe);

}  // namespace packhorse::trainer
