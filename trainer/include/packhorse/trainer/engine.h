#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "packhorse/trainer/device.h"
#include "packhorse/trainer/head.h"
#include "packhorse/trainer/recipe.h"

namespace packhorse::trainer {

struct DeviceBatch;
class Prefetcher;

/// Result of an evaluation.
struct Scores {
  std::uint64_t images = 0;
  double top1 = 0;  ///< per cent
  double top5 = 0;  ///< per cent; with fewer than 5 classes, of all of them
  double loss = 0;  ///< mean cross entropy, without label smoothing
};

/// A model, its optimiser and the device they live on: everything a step needs. One thread at a
/// time.
class Engine {
 public:
  /// The model is initialised from recipe.seed. Throws Error.
  Engine(const Recipe& recipe, std::int64_t classes, const Device& device);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Forward, backward and one step of the optimiser. On a GPU it returns when all that is queued.
  void train_step(const DeviceBatch& batch, double lr);
  /// Mean loss of the steps since the last call; waits for the device. Throws Error(kUnsupported)
  /// when it is not a finite number.
  double mean_loss();

  /// The whole of a started epoch. Float32 whatever the recipe says, so the figures depend on the
  /// parameters alone. Throws Error(kInterrupted) when `stop` is requested.
  Scores evaluate(Prefetcher& batches, std::stop_token stop = {});

  std::int64_t parameters() const;

  /// Takes weights that were saved elsewhere, as load_weights() does, and returns what it returns.
  std::vector<std::string> init_from(const std::filesystem::path& path, Head head);

  /// Saves and restores model, momentum and generator state; `meta` is stored with them.
  void save(const std::filesystem::path& path, const nlohmann::json& meta) const;
  /// Throws Error(kCorrupt) when the tensors do not fit this model.
  void load(const std::filesystem::path& path);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace packhorse::trainer
