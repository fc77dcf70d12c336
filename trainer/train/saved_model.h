#pragma once

#include <optional>

#include "checkpoint/checkpoint.h"
#include "packhorse/trainer/train/model_file.h"
#include "train/engine.h"
#include "train/run_state.h"

namespace packhorse::trainer {

/// What is in a ModelFile, before it is known for how many classes.
class SavedModel {
 public:
  /// Throws what read_checkpoint() does, and Error(kUsage) for a recipe that makes no sense.
  explicit SavedModel(ModelFile file);

  bool is_checkpoint() const { return checkpoint_.has_value(); }
  /// Of weights only the recipe.
  const RunState& state() const { return state_; }
  /// Returns the classes that the file is for; none where it does not say.
  [[nodiscard]] std::vector<std::string> load_into(Engine& engine) const;

 private:
  ModelFile file_;
  std::optional<Checkpoint> checkpoint_;
  RunState state_;
};

}  // namespace packhorse::trainer
