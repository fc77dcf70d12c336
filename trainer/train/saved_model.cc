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

void SavedModel::load_into(Engine& engine) const {
  if (checkpoint_) {
    engine.load_model(*checkpoint_, file_.checkpoint);
  } else {
    engine.init_from(file_.weights, {Head::kMustFit, file_.pixels});
  }
}

}  // namespace packhorse::trainer
