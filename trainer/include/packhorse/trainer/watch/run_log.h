#pragma once

#include <cstdint>
#include <optional>

#include "packhorse/trainer/device/device.h"
#include "packhorse/trainer/recipe/scores.h"

/// What a run reports about its steps and epochs.
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

}  // namespace packhorse::trainer
