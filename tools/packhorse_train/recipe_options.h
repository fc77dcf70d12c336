#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "packhorse/trainer/recipe/recipe.h"

namespace packhorse::trainer {

/// The options that shape a training run, shared by fit and measure. Options not given stay empty
/// in choices().
class RecipeOptions {
 public:
  /// Adds --arch and --image-size.
  std::vector<CLI::Option*> add_network_options(CLI::App& app);
  /// Adds these and --batch-size, --augment, --min-scale, --seed, --order, --amp, --channels-last.
  void add_model_options(CLI::App& app);
  /// Adds everything else that shapes the result: pixels, optimiser, schedule.
  void add_schedule_options(CLI::App& app);
  RecipeChoices choices() const;

 private:
  RecipeChoices choices_;
  std::optional<std::string> augment_, amp_, order_, optimizer_, non_finite_;
};

/// --device and --workers.
struct RunOptions {
  std::string device = "auto";
  int workers = -1;
  void add_options(CLI::App& app);
};

/// Gives LibTorch the cores this process may use, or its share of them when several processes train
/// on this machine.
void use_available_cpus(int local_processes = 1);

}  // namespace packhorse::trainer
