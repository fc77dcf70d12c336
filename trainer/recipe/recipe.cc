#include "packhorse/trainer/recipe/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <type_traits>

#include "base/choices.h"
#include "loader/loader_table.h"
#include "packhorse/base/error.h"
#include "recipe/recipe_json.h"
#include "recipe/recipe_table.h"
#include "recipe/schedule.h"

namespace packhorse::trainer {
namespace {

constexpr std::array<std::string_view, 3> kTaskNames = {"classify", "detect", "multilabel"};
constexpr std::array<std::string_view, 5> kAugmentNames = {"rrc", "pad-crop", "flip", "none",
                                                           "affine"};
constexpr std::array<std::string_view, 3> kAmpNames = {"off", "bf16", "fp16"};
constexpr std::array<std::string_view, 2> kNonFiniteNames = {"stop", "skip"};
constexpr std::array<std::string_view, 3> kOptimizerNames = {"sgd", "adamw", "lars"};

void require(bool holds, const char* rule) {
  if (!holds) throw Error(ErrorKind::kUsage, rule);
}

/// Sets an optimiser's default settings; for SGD those of the arch.
void take_defaults_of(OptimizerKind optimizer, Recipe& recipe) {
  if (optimizer == OptimizerKind::kAdamW) {
    recipe.lr = 5e-4 * static_cast<double>(recipe.batch_size) / 512;  // Touvron et al. 2021
    recipe.weight_decay = 0.05;
  } else if (optimizer == OptimizerKind::kLars) {
    recipe.lr = 0.6 * static_cast<double>(recipe.batch_size) / 256;  // MLPerf's ResNet-50
    recipe.weight_decay = 5e-5;
  }
}

/// The pixel steps of recipes from before these had a text of their own.
std::string pixel_steps_before(const nlohmann::json& json) {
  std::vector<std::string> steps;
  if (const double amount = json.value("color_jitter", 0.0); amount > 0)
    steps.push_back(fmt::format("ColorJitter({0}, {0}, {0}, {1})", amount, amount / 4));
  if (const double p = json.value("erasing", 0.0); p > 0)
    steps.push_back(fmt::format("RandomErasing({})", p));
  return fmt::format("{}", fmt::join(steps, ", "));
}

reader::PadCrop squeeze(const Recipe& recipe, int padding, double flip) {
  return {.size = recipe.image_size, .padding = padding, .flip = flip};
}

}  // namespace

template <>
std::span<const std::string_view> names_of<TaskKind>() {
  return kTaskNames;
}
template <>
std::span<const std::string_view> names_of<AugmentKind>() {
  return kAugmentNames;
}
template <>
std::span<const std::string_view> names_of<Amp>() {
  return kAmpNames;
}
template <>
std::span<const std::string_view> names_of<NonFinite>() {
  return kNonFiniteNames;
}
template <>
std::span<const std::string_view> names_of<OptimizerKind>() {
  return kOptimizerNames;
}
template <>
std::span<const std::string_view> names_of<reader::OrderKind>() {
  return reader::order_names();
}

std::size_t find_name(std::string_view what, std::string_view name,
                      std::span<const std::string_view> names) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    throw Error(ErrorKind::kUsage, fmt::format("there is no {} '{}'", what, name), {},
                choice_advice(name, {names.begin(), names.end()}));
  }
  return static_cast<std::size_t>(found - names.begin());
}

void Recipe::validate() const {
  RecipeChoices choices;
  for (const RecipeOption& setting : recipe_options()) setting.take(*this, choices);
  check_ranges(choices, recipe_options());
  require(reader::parse_pixel_steps(pixel_steps).empty() || channels == 0,
          "pixel steps change colours: not with `channels=`");
  const bool detects = task == TaskKind::kDetect;
  require(detects ? augment != AugmentKind::kRandomResizedCrop && augment != AugmentKind::kPadCrop
                  : augment != AugmentKind::kAffine,
          detects ? "objects are found in whole pictures: the augmentation must be affine, flip or "
                    "none"
                  : "only finding objects (`task=detect`) has the augmentation affine");
  require(detects || (mosaic == 0 && copy_paste == 0 && multi_scale == 0),
          "only finding objects (`task=detect`) has a mosaic, copied objects or several scales");
  require(!detects || (cutmix_alpha == 0 && label_smoothing == 0),
          "finding objects has no CutMix and no label smoothing");
  require(close_mosaic <= epochs, "the epochs without a mosaic must be no more than the run");
  require(!nesterov || momentum > 0, "Nesterov's momentum needs a momentum above 0");
  require(warmup_epochs <= epochs, "the warm-up must be no longer than the run");
  mix_options(*this).validate();
}

Recipe resolve(const RecipeChoices& choices, const Recipe& base) {
  Recipe recipe = base;
  for (const RecipeOption& setting : recipe_options()) setting.choose(choices, recipe);
  if (!choices.warmup_epochs && recipe.epochs != base.epochs) {
    recipe.warmup_epochs *= double(recipe.epochs) / base.epochs;
  }
  if (!choices.close_mosaic && recipe.epochs != base.epochs) {
    recipe.close_mosaic = std::round(recipe.close_mosaic * double(recipe.epochs) / base.epochs);
  }
  Recipe scaled = recipe;
  if (recipe.optimizer != base.optimizer) {
    take_defaults_of(recipe.optimizer, scaled);
  } else if (recipe.batch_size != base.batch_size) {
    scaled.lr *= static_cast<double>(recipe.batch_size) / static_cast<double>(base.batch_size);
  }
  if (!choices.lr) recipe.lr = scaled.lr;
  if (!choices.weight_decay) recipe.weight_decay = scaled.weight_decay;
  if (recipe.momentum == 0 && !choices.nesterov) recipe.nesterov = false;
  recipe.validate();
  require(!choices.min_scale || recipe.augment == AugmentKind::kRandomResizedCrop,
          "only the augmentation rrc has a smallest scale (`min_scale=`)");
  require(recipe.task == TaskKind::kDetect || choices.close_mosaic.value_or(0) == 0,
          "only finding objects (`task=detect`) has a mosaic to close (`close_mosaic=`)");
  return recipe;
}

void choose_samples(const Recipe& recipe, reader::LoaderOptions& options) {
  options.sampling.repeats = recipe.repeats;
  if (recipe.weights.empty()) return;
  find_row(reader::loader_options(), "weights").set(options, {recipe.weights});
}

void choose_bands(const Recipe& recipe, reader::LoaderOptions& options) {
  if (recipe.channels == 0) return;
  options.bands = reader::BandOptions{.of = recipe.channels};
  options.format.type = reader::PixelType::kFloat32;
}

reader::Augment train_augment(const Recipe& recipe) {
  switch (recipe.augment) {
    case AugmentKind::kRandomResizedCrop:
      return reader::RandomResizedCrop{.size = recipe.image_size, .min_scale = recipe.min_scale};
    case AugmentKind::kPadCrop:
      return squeeze(recipe, std::max(1, recipe.image_size / 8), 0.5);
    case AugmentKind::kFlip:
      return squeeze(recipe, 0, 0.5);
    case AugmentKind::kNone:
    case AugmentKind::kAffine:
      break;
  }
  return squeeze(recipe, 0, 0);
}

reader::MixOptions mix_options(const Recipe& recipe) {
  return {.mixup_alpha = recipe.mixup_alpha, .cutmix_alpha = recipe.cutmix_alpha};
}

reader::Augment eval_augment(const Recipe& recipe) {
  if (recipe.augment != AugmentKind::kRandomResizedCrop) return squeeze(recipe, 0, 0);
  return reader::ResizeCenterCrop{.resize = (recipe.image_size * 8 + 3) / 7,
                                  .size = recipe.image_size};
}

void to_json(nlohmann::json& json, const Recipe& recipe) {
  json = nlohmann::json::object();
  for (const RecipeOption& setting : recipe_options()) setting.write(recipe, json[setting.key]);
}

void from_json(const nlohmann::json& json, Recipe& recipe) {
  recipe.pixel_steps = pixel_steps_before(json);
  for (const RecipeOption& setting : recipe_options())
    if (json.contains(setting.key) || !setting.later) setting.read(json.at(setting.key), recipe);
}

double Schedule::at(std::int64_t step) const {
  if (step >= total_steps) return 0;
  if (step < warmup_steps) {
    return lr * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  }
  const double share =
      static_cast<double>(step - warmup_steps) / static_cast<double>(total_steps - warmup_steps);
  return lr * 0.5 * (1 + std::cos(std::numbers::pi * share));
}

}  // namespace packhorse::trainer
