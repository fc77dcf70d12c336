#include "packhorse/trainer/tasks/task.h"
#include "tasks/classify/classify.h"
#include "tasks/detect/detect.h"

namespace packhorse::trainer {

std::unique_ptr<const Task> make_task(const Recipe& recipe) {
  if (recipe.task == TaskKind::kDetect) return make_detect(recipe);
  return make_classify(recipe);
}

}  // namespace packhorse::trainer
