#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "base/option.h"
#include "packhorse/trainer/recipe/recipe.h"

namespace packhorse::trainer {

/// A row for each setting: its option, its place in a recipe's JSON, and what a run that goes on
/// may do with it.
struct RecipeOption : OptionOf<RecipeChoices> {
  std::string_view key;  ///< in JSON: "mixup_alpha"
  bool fixed = false;    ///< it must stay as it was when the run began
  bool later = false;    ///< checkpoints of version 0.1.0 do not have it
  void (*choose)(const RecipeChoices& choices, Recipe& recipe);
  void (*take)(const Recipe& recipe, RecipeChoices& choices);
  void (*write)(const Recipe& recipe, nlohmann::json& value);
  void (*read)(const nlohmann::json& value, Recipe& recipe);

  std::string text_in(const Recipe& recipe) const;
};
std::span<const RecipeOption> recipe_options();

}  // namespace packhorse::trainer
