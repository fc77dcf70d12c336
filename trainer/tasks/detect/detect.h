#pragma once

#include "packhorse/trainer/tasks/task.h"

namespace packhorse::trainer {

/// Boxes around the objects in a picture: YOLOX's losses, in several scales; COCO's average
/// precision. Pictures are fitted into squares (letterbox). Crowds are neither trained on nor
/// counted for or against; a picture without objects teaches that there is nothing.
std::unique_ptr<const Task> make_detect(const Recipe& recipe);

}  // namespace packhorse::trainer
