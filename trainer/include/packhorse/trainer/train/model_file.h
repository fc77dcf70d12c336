#pragma once

#include <filesystem>

#include "input/normalize.h"
#include "packhorse/trainer/checkpoint/weights.h"
#include "packhorse/trainer/recipe/recipe.h"

namespace packhorse::trainer {

/// A trained model: a checkpoint, or weights from elsewhere and what network they are for.
struct ModelFile {
  std::filesystem::path checkpoint;
  std::filesystem::path weights;  ///< instead of a checkpoint: as load_weights() takes them
  PixelKind pixels = PixelKind::kNormalized;  ///< of weights
  RecipeChoices recipe = {};                  ///< for weights; a checkpoint brings its own
  Normalization bands = {{}, {}};             ///< of weights with Recipe::channels, one for each

  const std::filesystem::path& path() const { return weights.empty() ? checkpoint : weights; }
};

}  // namespace packhorse::trainer
