#include "train/saved_model.h"

#include <utility>

#include "packhorse/base/error.h"
#include "packhorse/trainer/models/archs.h"

namespace packhorse::trainer {

SavedModel::SavedModel(ModelFile file) : file_(std::move(file)) {
  if (file_.weights.empty()) {
    checkpoint_ = read_checkpoint(file_.checkpoint);
    state_ = from_meta(checkpoint_->meta, file_.checkpoint);
  } else {
    state_.recipe = resolve(file_.recipe, default_recipe(file_.recipe));
    const auto channels = static_cast<std::size_t>(state_.recipe.channels);
    if (file_.bands.mean.size() != channels || file_.bands.stddev.size() != channels)
      throw Error(ErrorKind::kUsage,
                  "weights of " + std::to_string(channels) +
                      " channels need as many means and standard deviations of their bands",
                  file_.weights, "give --mean and --std, as `packhorse-train fit` printed them");
    for (const double deviation : file_.bands.stddev)
      if (!(deviation > 0))
        throw Error(ErrorKind::kUsage, "a standard deviation must be above 0", file_.weights,
                    "give --std, as `packhorse-train fit` printed it");
  }
}

std::vector<std::string> SavedModel::load_into(Engine& engine) const {
  if (!checkpoint_) {
    if (!file_.bands.mean.empty()) engine.set_normalization(file_.bands);
    return engine.init_from(file_.weights, {Head::kFromFile, file_.pixels}).classes;
  }
  engine.load_model(*checkpoint_, file_.checkpoint);
  return state_.classes;
}

}  // namespace packhorse::trainer
