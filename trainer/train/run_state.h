#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "packhorse/trainer/recipe/recipe.h"
#include "packhorse/trainer/watch/run_log.h"
#include "recipe/recipe_json.h"

namespace packhorse::trainer {

nlohmann::json to_meta(const RunState& state);
/// Throws Error(kCorrupt) naming `path` when fields are missing.
RunState from_meta(const nlohmann::json& meta, const std::filesystem::path& path);
/// Reads the plain part of a checkpoint file. Throws as read_checkpoint() does.
RunState read_run_state(const std::filesystem::path& path);

/// The history as text, one line per epoch.
std::string history_jsonl(const std::vector<EpochLog>& history, TaskKind task);
std::string history_csv(const std::vector<EpochLog>& history, TaskKind task);

}  // namespace packhorse::trainer
