#pragma once

#include <filesystem>
#include <string>

#include "packhorse/trainer/checkpoint/weights.h"
#include "packhorse/trainer/device/device.h"
#include "packhorse/trainer/models/models.h"
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

/// The bytes of a TorchScript module of a checkpoint's network, the averaged one where there is
/// one: torch.jit.load() opens them in Python, torch::jit::load() in C++. It takes any number of
/// pictures of the recipe's size, float [B, 3, S, S], RGB, normalised, on the device that it was
/// made for, and gives what Model::forward() says. Its extra file "packhorse.json" has the task,
/// the classes, the size and the normalisation. Throws what reading checkpoints throws, and
/// Error(kUnsupported) for what is a TorchScript module already.
std::string export_script(const std::filesystem::path& checkpoint, const Device& device);

}  // namespace packhorse::trainer
