#pragma once

#include <nlohmann/json_fwd.hpp>

#include "packhorse/trainer/recipe/recipe.h"

/// Recipes as checkpoints and reports hold them.
namespace packhorse::trainer {

void to_json(nlohmann::json& json, const Recipe& recipe);
/// Throws Error(kUsage) for an unknown name, nlohmann::json::exception for a missing field.
void from_json(const nlohmann::json& json, Recipe& recipe);

}  // namespace packhorse::trainer
