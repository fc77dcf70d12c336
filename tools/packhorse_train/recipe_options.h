#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "packhorse/trainer/device/device.h"
#include "packhorse/trainer/recipe/recipe.h"

namespace packhorse::trainer {

/// The options that shape a training run, shared by fit and measure. Options not given stay empty
/// in choices().
class RecipeOptions {
 public:
  /// Adds --task, --arch and --image-size.
  std::vector<CLI::Option*> add_network_options(CLI::App& app);
  /// Adds these and --batch-size, --augment, --min-scale, --seed, --order, --amp, --channels-last.
  void add_model_options(CLI::App& app);
  /// Adds everything else that shapes the result: pixels, optimiser, schedule.
  void add_schedule_options(CLI::App& app);
  RecipeChoices choices() const;

 private:
  RecipeChoices choices_;
  std::optional<std::string> task_, augment_, amp_, order_, optimizer_, non_finite_;
};

/// --device, --workers and --bind.
struct RunOptions {
  std::string device = "auto";
  int workers = -1;
  std::string bind = "none";
  void add_options(CLI::App& app);
  /// Picks the device of one of the processes on this machine, binds the process, and gives
  /// LibTorch its share of the cores. Prints what it is bound to on stderr. Call it before any
  /// thread starts.
  Device apply(int local_rank = 0, int local_processes = 1) const;
};

}  // namespace packhorse::trainer
