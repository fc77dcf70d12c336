#include "train/saved_model.h"

#include <utility>

#include "packhorse/trainer/models/archs.h"

namespace packhorse::trainer {

SavedModel::SavedModel(ModelFile file) : file_(std::move(file)) {
  if (file_.weights.empty()) {
    checkpoint_ = read_checkpoint(file_.checkpoint);
    state_ = from_meta(checkpoint_->meta, file_.checkpoint);
  } else {
    state_.recipe = resolve(file_.recipe, default_recipe(file_.recipe));
  }
}

std::vector<std::string> SavedModel::load_into(Engine& engine) const {
  if (!checkpoint_) return engine.init_from(file_.weights, {Head::kFromFile, file_.pixels}).classes;
  engine.load_model(*checkpoint_, file_.checkpoint);
  return state_.classes;
}

}  // namespace packhorse::trainer
