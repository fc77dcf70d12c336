#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "measure/measure.h"
#include "packhorse/trainer/device/device.h"
#include "packhorse/trainer/parallel/processes.h"
#include "packhorse/trainer/recipe/recipe.h"
#include "packhorse/trainer/train/model_file.h"
#include "packhorse/trainer/watch/watch_options.h"

namespace packhorse::trainer {

/// The options that shape a training run, shared by fit and measure. Options not given stay empty
/// in choices().
class RecipeOptions {
 public:
  /// Adds --task, --arch, --image-size and --channels.
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

/// --bgr-weights, which needs the option of the weights.
void add_weight_pixels(CLI::App& app, CLI::Option* weights, PixelKind& pixels);

/// --checkpoint, or --weights and what network they are of.
class ModelOptions {
 public:
  /// Returns --weights.
  CLI::Option* add_options(CLI::App& app);
  ModelFile file() const;

 private:
  ModelFile file_;
  RecipeOptions recipe_;
};

/// --device and --workers.
struct RunOptions {
  std::string device = "auto";
  int workers = -1;
  void add_options(CLI::App& app);
  void add_device(CLI::App& app);
  /// The device of one of the processes of this machine. Throws as pick_device().
  Device pick(int local_rank = 0) const;
};

/// Gives LibTorch this process's share of the CPUs that it may use: those processes of a machine
/// that may use the same CPUs share them. All processes must call it, before they compute.
void share_cpus(const Processes& processes = {});

/// Declares --repeats, --steps, --warmup-steps, --max-seconds, --simulated-device.
class PassOptions {
 public:
  void add_options(CLI::App& app);
  void put_into(MeasureOptions& options) const;

 private:
  MeasureOptions defaults_;
};

/// --metrics-port, --metrics-address, --trace, --trace-steps.
class WatchCommandOptions {
 public:
  void add_options(CLI::App& app);
  /// Throws Error(kUsage).
  WatchOptions options() const;

 private:
  WatchOptions options_;
  std::optional<std::string> trace_steps_;
};

}  // namespace packhorse::trainer
