#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "packhorse/trainer/device/device.h"
#include "packhorse/trainer/recipe/scores.h"

/// What a run reports about its steps and epochs, and how far it is.
namespace packhorse::trainer {

/// A report made now and then during an epoch.
struct StepReport {
  int epoch = 0, epochs = 0;         ///< counted from 1
  std::int64_t step = 0, steps = 0;  ///< in the epoch
  double loss = 0, lr = 0, images_per_s = 0, data_wait_share = 0;
  std::int64_t skipped = 0;  ///< steps of the run whose gradients were not finite
  double loss_scale = 1;     ///< of float16
  PeakMemory device_memory = {};
};

/// The report of a finished epoch: a line of log.jsonl and log.csv.
struct EpochLog {
  int epoch = 0;  ///< counted from 1
  std::int64_t step = 0;
  double lr = 0;                 ///< of its last step
  double train_loss = 0;         ///< mean over its steps
  std::optional<Scores> scores;  ///< on the validation data
  double seconds = 0;            ///< of training, without evaluation
  double images_per_s = 0;
  double data_wait_share = 0;  ///< of `seconds`, 0..1
};

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

}  // namespace packhorse::trainer
