#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "packhorse/trainer/recipe/recipe.h"
#include "packhorse/trainer/watch/run_log.h"

namespace packhorse::trainer {

/// The position of a run, apart from the tensors: the plain part of a checkpoint.
struct RunState {
  Recipe recipe;
  std::vector<std::string> classes;
  std::uint64_t train_samples = 0;
  std::string data;        ///< reader::Dataset::id(); empty: an earlier version did not say
  int epoch = 0;           ///< the running one, counted from 0
  std::uint64_t done = 0;  ///< samples of it done
  std::int64_t step = 0;   ///< steps done in the whole run
  double best_score = -1;  ///< Scores::best(); negative: none yet
  double loss_sum = 0;     ///< over the steps of the running epoch
  std::int64_t loss_steps = 0;
  double epoch_seconds = 0;  ///< of training in the running epoch
  double epoch_wait_s = 0;
  std::vector<EpochLog> history;
};

nlohmann::json to_meta(const RunState& state);
/// Throws Error(kCorrupt) naming `path` when fields are missing.
RunState from_meta(const nlohmann::json& meta, const std::filesystem::path& path);
/// Reads the plain part of a checkpoint file. Throws as read_checkpoint() does.
RunState read_run_state(const std::filesystem::path& path);

/// The history as text, one line per epoch.
std::string history_jsonl(const std::vector<EpochLog>& history, TaskKind task);
std::string history_csv(const std::vector<EpochLog>& history, TaskKind task);

}  // namespace packhorse::trainer
