#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "input/normalize.h"
#include "packhorse/trainer/checkpoint/weights.h"
#include "packhorse/trainer/device/device.h"
#include "packhorse/trainer/recipe/recipe.h"
#include "tasks/task.h"

namespace packhorse::trainer {

struct Checkpoint;
struct DeviceBatch;
class Prefetcher;
class Processes;

/// Figures of the steps since the last report, over all processes.
struct StepsReport {
  double loss = 0;           ///< mean
  std::int64_t skipped = 0;  ///< steps of the whole run whose gradients were not finite
  double loss_scale = 1;     ///< of float16
};

struct EngineOptions {
  Device device;
  const Processes* processes = nullptr;  ///< must outlive the engine; nullptr: this one is alone
  /// Replays a step as one CUDA graph, with the same losses. Works only for one process, whole
  /// batches (no accumulated parts) and a task that says so.
  bool cuda_graph = false;
};

/// A model, its optimiser and the device they live on: everything a step needs. With several
/// processes each has an Engine, which takes the first one's parameters and stays equal to it; they
/// must call the same functions in the same order. Randomness (dropout, ...) is a function of the
/// seed, the step and the process, so that a resumed run draws the same. One thread at a time.
class Engine {
 public:
  /// Initialises the model from recipe.seed. Throws Error.
  Engine(const Recipe& recipe, std::int64_t classes, const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Starts from weights saved elsewhere, see load_weights().
  LoadedWeights init_from(const std::filesystem::path& path, const WeightsUse& use);

  /// Runs forward and backward, and after the last part of a step also one step of the optimiser.
  /// On a GPU it returns when all of that is queued.
  void train(const DeviceBatch& batch, const StepPlace& place);
  /// Undoes the parts of a step whose last part does not come.
  void drop_parts();
  /// Waits for the device and for the other processes. Throws Error(kUnsupported) when a loss or a
  /// gradient was not a finite number (unless Recipe::non_finite says to skip those), or when no
  /// scale keeps float16 finite. A step whose gradients are not finite changes no parameter.
  StepsReport report();

  /// Call before an evaluation: gives all processes the first one's running statistics.
  void share_statistics();
  /// Gives `scorer` the whole of a started epoch, in this process alone, in the precision that the
  /// recipe trains in (Recipe::amp), with the averaged parameters where the recipe has an average.
  /// Ends early when `stop` is requested.
  void evaluate(Prefetcher& batches, Scorer& scorer, std::stop_token stop = {});

  std::int64_t parameters() const;
  /// ImageNet's; of bands (Recipe::channels), until they are set, what changes nothing.
  const Normalization& normalization() const;
  void set_normalization(Normalization normalization);
  /// A TorchScript module of the network, the averaged one where there is one: see export_script().
  /// `text` goes along.
  std::string traced(const std::string& text);

  /// Copies model, optimiser, average and scaler to the CPU's memory; `meta` is stored with them.
  /// Throws Error(kUnsupported) when a number in them is not finite.
  Checkpoint snapshot(const nlohmann::json& meta) const;
  /// Throws Error(kCorrupt) when the tensors do not fit this model and recipe.
  void load(const Checkpoint& checkpoint, const std::filesystem::path& path);
  /// Loads only the model, or its average where there is one: for evaluation.
  void load_model(const Checkpoint& checkpoint, const std::filesystem::path& path);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace packhorse::trainer
