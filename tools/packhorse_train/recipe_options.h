#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/options.h"
#include "loader/loader_table.h"
#include "measure/measure.h"
#include "packhorse/reader/loader.h"
#include "packhorse/trainer/device/device.h"
#include "packhorse/trainer/parallel/processes.h"
#include "packhorse/trainer/recipe/recipe.h"
#include "packhorse/trainer/train/model_file.h"
#include "packhorse/trainer/watch/watch_options.h"
#include "recipe/recipe_table.h"

namespace packhorse::trainer {

/// The options that shape a training run (recipe_options()), shared by fit and measure. Options not
/// given stay empty in choices().
class RecipeArguments {
 public:
  /// Adds what says which network it is.
  std::vector<CLI::Option*> add_network_options(CLI::App& app);
  /// Adds these and what shapes a single step.
  void add_model_options(CLI::App& app);
  /// Adds everything.
  void add_all_options(CLI::App& app);
  RecipeChoices choices() const;

 private:
  CLI::Option* declare(CLI::App& app, const RecipeOption& row);

  program::TableOptions table_;
};

/// Options of the loader that a command takes, and the members of the same purpose in its own.
class LoaderArguments {
 public:
  void add_options(CLI::App& app, std::initializer_list<std::string_view> names) {
    table_.declare(app, reader::loader_options(), names);
  }
  template <class Options>
  void put_into(Options& options) const {
    reader::LoaderOptions loader;
    set_given(loader, reader::loader_options(), table_.given());
    options.workers = loader.workers;
    if constexpr (requires { options.slots; }) options.slots = loader.slots;
    if constexpr (requires { options.bad_samples; }) options.bad_samples = loader.bad_samples;
  }

 private:
  program::TableOptions table_;
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
  RecipeArguments recipe_;
};

/// --device.
struct RunOptions {
  std::string device = "auto";
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
