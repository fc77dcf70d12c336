#include "tasks/kinds.h"
#include "tasks/task.h"

namespace packhorse::trainer {

std::unique_ptr<const Task> make_task(const Recipe& recipe) {
  if (recipe.task == TaskKind::kDetect) return make_detect(recipe);
  if (recipe.task == TaskKind::kMultiLabel) return make_multilabel(recipe);
  return make_classify(recipe);
}

}  // namespace packhorse::trainer
