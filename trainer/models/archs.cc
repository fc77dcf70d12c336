#include "models/archs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "base/choices.h"
#include "packhorse/base/error.h"

namespace packhorse::trainer {
namespace {

constexpr std::string_view kScriptPrefix = "script:";

constexpr std::array kArchs = {&kSmallNet,  &kResNet18Cifar, &kResNet18,    &kResNet34,
                               &kResNet50,  &kResNet101,     &kMobileNetV2, &kVitS16,
                               &kYoloxNano, &kYoloxTiny,     &kYoloxS,      &kFcosResNet50};

}  // namespace

std::span<const Arch* const> all_archs() { return kArchs; }

const Arch& script_arch() { return kScript; }

std::string script_file(std::string_view name) {
  return name.starts_with(kScriptPrefix) ? std::string(name.substr(kScriptPrefix.size())) : "";
}

const Arch& find_arch(std::string_view name) {
  if (name.starts_with(kScriptPrefix)) return kScript;
  std::vector<std::string> names;
  for (const Arch* arch : kArchs) {
    if (arch->name == name) return *arch;
    names.emplace_back(arch->name);
  }
  names.emplace_back(kScript.name);
  throw Error(ErrorKind::kUsage, fmt::format("there is no arch '{}'", name), {},
              choice_advice(name, names));
}

Recipe default_recipe(const Arch& arch) {
  Recipe recipe;
  recipe.task = arch.task;
  recipe.arch = arch.name;
  recipe.image_size = arch.image_size;
  recipe.augment = arch.augment;
  recipe.epochs = arch.epochs;
  recipe.batch_size = arch.batch_size;
  recipe.optimizer = arch.optimizer;
  recipe.lr = arch.lr;
  recipe.weight_decay = arch.weight_decay;
  recipe.warmup_epochs = arch.warmup_share * arch.epochs;
  recipe.ema_decay = arch.ema_decay;
  recipe.mosaic = arch.mosaic;
  recipe.close_mosaic = std::round(arch.close_mosaic_share * arch.epochs);
  recipe.multi_scale = arch.multi_scale;
  return recipe;
}

Recipe default_recipe(const RecipeChoices& choices) {
  const TaskKind task = choices.task.value_or(TaskKind::kClassify);
  const Arch& arch = choices.arch                ? find_arch(*choices.arch)
                     : task == TaskKind::kDetect ? kYoloxS
                                                 : kResNet18;
  const TaskKind fits = task == TaskKind::kMultiLabel ? TaskKind::kClassify : task;
  if (choices.task && arch.task != fits)
    throw Error(ErrorKind::kUsage,
                fmt::format("{} is made for another task: {}", arch.name, name_of(arch.task)), {},
                fmt::format("leave out `task=`, or choose another `arch=`"));
  Recipe recipe = default_recipe(arch);
  if (choices.task) recipe.task = task;
  return recipe;
}

}  // namespace packhorse::trainer
