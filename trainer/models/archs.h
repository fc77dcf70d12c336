#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "packhorse/trainer/recipe/recipe.h"

namespace packhorse::trainer {

class Model;
struct ModelSpec;

/// What a detector's predictions mean, and so which losses it is trained with.
enum class DetectorKind : std::uint8_t { kYolox, kFcos };

/// A network that --arch can name, and the training settings that suit it.
struct Arch {
  std::string_view name;
  std::string_view summary;  ///< one line for help
  std::shared_ptr<Model> (*make)(const ModelSpec& spec);
  int image_size;  ///< pixels, both sides
  AugmentKind augment;
  int epochs;
  std::int64_t batch_size;
  double lr;  ///< at that batch size
  double weight_decay;
  double warmup_share;  ///< of all epochs
  OptimizerKind optimizer = OptimizerKind::kSgd;
  TaskKind task = TaskKind::kClassify;
  double ema_decay = 0;
  double mosaic = 0, close_mosaic_share = 0;  ///< to find objects; of all epochs
  double multi_scale = 0;
  DetectorKind detector = DetectorKind::kYolox;  ///< where the task is to find objects
};

/// All but script_arch(). A new network is a file in models/ and a name in this list.
std::span<const Arch* const> all_archs();
/// The arch behind every name "script:FILE".
const Arch& script_arch();
/// FILE of "script:FILE", "" for other names.
std::string script_file(std::string_view name);

/// Throws Error(kUsage) listing the known names.
const Arch& find_arch(std::string_view name);

/// The settings a run of `arch` has when nothing else is asked for.
Recipe default_recipe(const Arch& arch);
/// Those of the arch that `choices` name; without an arch, of the one that a task has when nothing
/// else is asked for. Throws Error(kUsage) also for an arch that is made for another task.
Recipe default_recipe(const RecipeChoices& choices);

extern const Arch kSmallNet;
extern const Arch kResNet18, kResNet34, kResNet50, kResNet101;
extern const Arch kResNet18Cifar;
extern const Arch kMobileNetV2;
extern const Arch kVitS16;
extern const Arch kScript;
extern const Arch kYoloxNano, kYoloxTiny, kYoloxS;
extern const Arch kFcosResNet50;

}  // namespace packhorse::trainer
