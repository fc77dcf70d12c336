#pragma once

#include "tasks/task.h"

namespace packhorse::trainer {

/// One class a picture: cross entropy, with label smoothing, Mixup and CutMix; top-1 and top-5.
std::unique_ptr<const Task> make_classify(const Recipe& recipe);

/// Boxes around the objects in a picture: YOLOX's losses, in several scales; COCO's average
/// precision. Pictures are fitted into squares (letterbox). Crowds are neither trained on nor
/// counted for or against; a picture without objects teaches that there is nothing.
std::unique_ptr<const Task> make_detect(const Recipe& recipe);

/// Several classes a picture, or none: binary cross entropy of each class, also with Mixup, CutMix
/// and targets between 0 and 1; mean average precision.
std::unique_ptr<const Task> make_multilabel(const Recipe& recipe);

}  // namespace packhorse::trainer
