#include "packhorse/trainer/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "packhorse/error.h"

namespace packhorse::trainer {
namespace {

constexpr std::array<std::string_view, 4> kAugmentNames = {"rrc", "pad-crop", "flip", "none"};
constexpr std::array<std::string_view, 2> kAmpNames = {"off", "bf16"};
constexpr std::array<std::string_view, 3> kOrderNames = {"global", "window", "sequential"};

template <class Enum, std::size_t N>
Enum parse(std::string_view what, std::string_view name,
           const std::array<std::string_view, N>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw Error(ErrorKind::kUsage, fmt::format("there is no {} '{}'", what, name), {},
                fmt::format("choose one of: {}", fmt::join(names, ", ")));
  }
  return static_cast<Enum>(found - names.begin());
}

void require(bool holds, const char* rule) {
  if (!holds) throw Error(ErrorKind::kUsage, rule);
}

reader::PadCrop squeeze(const Recipe& recipe, int padding, double flip) {
  return {.size = recipe.image_size, .padding = padding, .flip = flip};
}

}  // namespace

std::string_view name_of(AugmentKind kind) { return kAugmentNames[static_cast<std::size_t>(kind)]; }
std::string_view name_of(Amp amp) { return kAmpNames[static_cast<std::size_t>(amp)]; }
std::string_view name_of(reader::OrderKind order) {
  return kOrderNames[static_cast<std::size_t>(order)];
}
std::span<const std::string_view> augment_names() { return kAugmentNames; }
std::span<const std::string_view> amp_names() { return kAmpNames; }
std::span<const std::string_view> order_names() { return kOrderNames; }

AugmentKind parse_augment(std::string_view name) {
  return parse<AugmentKind>("augmentation", name, kAugmentNames);
}
Amp parse_amp(std::string_view name) { return parse<Amp>("mixed precision", name, kAmpNames); }
reader::OrderKind parse_order(std::string_view name) {
  return parse<reader::OrderKind>("order", name, kOrderNames);
}

void Recipe::validate() const {
  require(image_size >= 8 && image_size <= 4096, "the image size must be 8 to 4096 pixels");
  require(min_scale > 0 && min_scale <= 1, "the smallest scale must be above 0 and at most 1");
  require(epochs >= 1, "there must be at least one epoch");
  require(batch_size >= 1, "the batch size must be at least 1");
  require(std::isfinite(lr) && lr > 0, "the learning rate must be above 0");
  require(momentum >= 0 && momentum < 1, "the momentum must be at least 0 and below 1");
  require(!nesterov || momentum > 0, "Nesterov's momentum needs a momentum above 0");
  require(std::isfinite(weight_decay) && weight_decay >= 0, "the weight decay must be at least 0");
  require(seed < (std::uint64_t{1} << 63), "the seed must be below 2^63");
  require(label_smoothing >= 0 && label_smoothing < 1,
          "the label smoothing must be at least 0 and below 1");
  require(warmup_epochs >= 0 && warmup_epochs <= epochs,
          "the warm-up must be at least 0 epochs and no longer than the run");
}

Recipe resolve(const RecipeChoices& choices, const Recipe& base) {
  Recipe recipe = base;
  const auto put = [](const auto& choice, auto& field) {
    if (choice) field = *choice;
  };
  put(choices.arch, recipe.arch);
  put(choices.image_size, recipe.image_size);
  put(choices.augment, recipe.augment);
  put(choices.min_scale, recipe.min_scale);
  put(choices.epochs, recipe.epochs);
  put(choices.batch_size, recipe.batch_size);
  put(choices.lr, recipe.lr);
  put(choices.momentum, recipe.momentum);
  put(choices.nesterov, recipe.nesterov);
  put(choices.weight_decay, recipe.weight_decay);
  put(choices.label_smoothing, recipe.label_smoothing);
  put(choices.seed, recipe.seed);
  put(choices.order, recipe.order);
  put(choices.amp, recipe.amp);
  put(choices.channels_last, recipe.channels_last);
  if (recipe.epochs != base.epochs) recipe.warmup_epochs *= double(recipe.epochs) / base.epochs;
  put(choices.warmup_epochs, recipe.warmup_epochs);
  if (recipe.momentum == 0 && !choices.nesterov) recipe.nesterov = false;
  recipe.validate();
  return recipe;
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
      break;
  }
  return squeeze(recipe, 0, 0);
}

reader::Augment eval_augment(const Recipe& recipe) {
  if (recipe.augment != AugmentKind::kRandomResizedCrop) return squeeze(recipe, 0, 0);
  return reader::ResizeCenterCrop{.resize = (recipe.image_size * 8 + 3) / 7,
                                  .size = recipe.image_size};
}

void to_json(nlohmann::json& json, const Recipe& recipe) {
  json = {{"arch", recipe.arch},
          {"image_size", recipe.image_size},
          {"augment", name_of(recipe.augment)},
          {"min_scale", recipe.min_scale},
          {"epochs", recipe.epochs},
          {"batch_size", recipe.batch_size},
          {"lr", recipe.lr},
          {"momentum", recipe.momentum},
          {"nesterov", recipe.nesterov},
          {"weight_decay", recipe.weight_decay},
          {"label_smoothing", recipe.label_smoothing},
          {"warmup_epochs", recipe.warmup_epochs},
          {"seed", recipe.seed},
          {"order", name_of(recipe.order)},
          {"amp", name_of(recipe.amp)},
          {"channels_last", recipe.channels_last}};
}

void from_json(const nlohmann::json& json, Recipe& recipe) {
  json.at("arch").get_to(recipe.arch);
  json.at("image_size").get_to(recipe.image_size);
  recipe.augment = parse_augment(json.at("augment").get<std::string>());
  json.at("min_scale").get_to(recipe.min_scale);
  json.at("epochs").get_to(recipe.epochs);
  json.at("batch_size").get_to(recipe.batch_size);
  json.at("lr").get_to(recipe.lr);
  json.at("momentum").get_to(recipe.momentum);
  json.at("nesterov").get_to(recipe.nesterov);
  json.at("weight_decay").get_to(recipe.weight_decay);
  json.at("label_smoothing").get_to(recipe.label_smoothing);
  json.at("warmup_epochs").get_to(recipe.warmup_epochs);
  json.at("seed").get_to(recipe.seed);
  recipe.order = parse_order(json.at("order").get<std::string>());
  recipe.amp = parse_amp(json.at("amp").get<std::string>());
  json.at("channels_last").get_to(recipe.channels_last);
}

}  // namespace packhorse::trainer
