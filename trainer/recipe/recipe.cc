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
#include "packhorse/base/error.h"
#include "recipe/recipe_json.h"
#include "recipe/schedule.h"

namespace packhorse::trainer {
namespace {

constexpr std::array<std::string_view, 3> kTaskNames = {"classify", "detect", "multilabel"};
constexpr std::array<std::string_view, 5> kAugmentNames = {"rrc", "pad-crop", "flip", "none",
                                                           "affine"};
constexpr std::array<std::string_view, 3> kAmpNames = {"off", "bf16", "fp16"};
constexpr std::array<std::string_view, 2> kNonFiniteNames = {"stop", "skip"};
constexpr std::array<std::string_view, 3> kOptimizerNames = {"sgd", "adamw", "lars"};

/// Calls visit(name, member of Recipe, member of RecipeChoices) for each setting.
template <class Visit>
void for_each_setting(const Visit& visit) {
  using R = Recipe;
  using C = RecipeChoices;
  visit("task", &R::task, &C::task);
  visit("arch", &R::arch, &C::arch);
  visit("image_size", &R::image_size, &C::image_size);
  visit("channels", &R::channels, &C::channels);
  visit("augment", &R::augment, &C::augment);
  visit("min_scale", &R::min_scale, &C::min_scale);
  visit("pixel_steps", &R::pixel_steps, &C::pixel_steps);
  visit("mixup_alpha", &R::mixup_alpha, &C::mixup_alpha);
  visit("cutmix_alpha", &R::cutmix_alpha, &C::cutmix_alpha);
  visit("mosaic", &R::mosaic, &C::mosaic);
  visit("copy_paste", &R::copy_paste, &C::copy_paste);
  visit("close_mosaic", &R::close_mosaic, &C::close_mosaic);
  visit("multi_scale", &R::multi_scale, &C::multi_scale);
  visit("epochs", &R::epochs, &C::epochs);
  visit("batch_size", &R::batch_size, &C::batch_size);
  visit("accumulate", &R::accumulate, &C::accumulate);
  visit("optimizer", &R::optimizer, &C::optimizer);
  visit("lr", &R::lr, &C::lr);
  visit("momentum", &R::momentum, &C::momentum);
  visit("nesterov", &R::nesterov, &C::nesterov);
  visit("beta1", &R::beta1, &C::beta1);
  visit("beta2", &R::beta2, &C::beta2);
  visit("weight_decay", &R::weight_decay, &C::weight_decay);
  visit("clip_norm", &R::clip_norm, &C::clip_norm);
  visit("label_smoothing", &R::label_smoothing, &C::label_smoothing);
  visit("warmup_epochs", &R::warmup_epochs, &C::warmup_epochs);
  visit("ema_decay", &R::ema_decay, &C::ema_decay);
  visit("seed", &R::seed, &C::seed);
  visit("order", &R::order, &C::order);
  visit("amp", &R::amp, &C::amp);
  visit("non_finite", &R::non_finite, &C::non_finite);
  visit("channels_last", &R::channels_last, &C::channels_last);
  visit("sync_bn", &R::sync_bn, &C::sync_bn);
}

/// Settings that checkpoints of version 0.1.0 do not have.
constexpr std::array<std::string_view, 7> kLater = {
    "task", "channels", "pixel_steps", "mosaic", "copy_paste", "close_mosaic", "multi_scale"};

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
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw Error(ErrorKind::kUsage, fmt::format("there is no {} '{}'", what, name), {},
                choice_advice(name, {names.begin(), names.end()}));
  }
  return static_cast<std::size_t>(found - names.begin());
}

void Recipe::validate() const {
  require(image_size >= 8 && image_size <= 4096, "the image size must be 8 to 4096 pixels");
  require(channels >= 0 && channels <= 255, "there may be 1 to 255 channels");
  require(reader::parse_pixel_steps(pixel_steps).empty() || channels == 0,
          "pixel steps change colours: not with --channels");
  require(min_scale > 0 && min_scale <= 1, "the smallest scale must be above 0 and at most 1");
  const bool detects = task == TaskKind::kDetect;
  require(detects ? augment != AugmentKind::kRandomResizedCrop && augment != AugmentKind::kPadCrop
                  : augment != AugmentKind::kAffine,
          detects ? "objects are found in whole pictures: the augmentation must be affine, flip or "
                    "none"
                  : "only finding objects (--task detect) has the augmentation affine");
  require(detects || (mosaic == 0 && copy_paste == 0 && multi_scale == 0),
          "only finding objects (--task detect) has a mosaic, copied objects or several scales");
  require(!detects || (cutmix_alpha == 0 && label_smoothing == 0),
          "finding objects has no CutMix and no label smoothing");
  require(mosaic >= 0 && mosaic <= 1 && copy_paste >= 0 && copy_paste <= 1,
          "the probabilities of a mosaic and of copied objects must be 0 to 1");
  require(close_mosaic >= 0 && close_mosaic <= epochs,
          "the epochs without a mosaic must be at least 0 and no more than the run");
  require(multi_scale >= 0 && multi_scale <= 0.9, "the share of scales must be 0 to 0.9");
  require(epochs >= 1, "there must be at least one epoch");
  require(batch_size >= 1, "the batch size must be at least 1");
  require(accumulate >= 1, "a batch must be accumulated in at least 1 part");
  require(std::isfinite(lr) && lr > 0, "the learning rate must be above 0");
  require(momentum >= 0 && momentum < 1, "the momentum must be at least 0 and below 1");
  require(!nesterov || momentum > 0, "Nesterov's momentum needs a momentum above 0");
  require(beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1,
          "the betas must be at least 0 and below 1");
  require(std::isfinite(weight_decay) && weight_decay >= 0, "the weight decay must be at least 0");
  require(std::isfinite(clip_norm) && clip_norm >= 0,
          "the norm to clip the gradients at must be at least 0");
  require(ema_decay >= 0 && ema_decay < 1,
          "the decay of the moving average must be at least 0 and below 1");
  require(seed < (std::uint64_t{1} << 63), "the seed must be below 2^63");
  require(label_smoothing >= 0 && label_smoothing < 1,
          "the label smoothing must be at least 0 and below 1");
  require(warmup_epochs >= 0 && warmup_epochs <= epochs,
          "the warm-up must be at least 0 epochs and no longer than the run");
  mix_options(*this).validate();
}

Recipe resolve(const RecipeChoices& choices, const Recipe& base) {
  Recipe recipe = base;
  for_each_setting([&](const char*, auto field, auto choice) {
    if (choices.*choice) recipe.*field = *(choices.*choice);
  });
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
          "only the augmentation rrc has a smallest scale (--min-scale)");
  require(recipe.task == TaskKind::kDetect || choices.close_mosaic.value_or(0) == 0,
          "only finding objects (--task detect) has a mosaic to close (--close-mosaic)");
  return recipe;
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
  for_each_setting([&](const char* name, auto field, auto) {
    const auto& value = recipe.*field;
    if constexpr (std::is_enum_v<std::decay_t<decltype(value)>>) {
      json[name] = name_of(value);
    } else {
      json[name] = value;
    }
  });
}

void from_json(const nlohmann::json& json, Recipe& recipe) {
  recipe.pixel_steps = pixel_steps_before(json);
  for_each_setting([&](const char* name, auto field, auto) {
    if (!json.contains(name) && std::count(kLater.begin(), kLater.end(), name) > 0) return;
    auto& value = recipe.*field;
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_enum_v<T>) {
      value = parse_name<T>(name, json.at(name).template get<std::string>());
    } else {
      json.at(name).get_to(value);
    }
  });
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
