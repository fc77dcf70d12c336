#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>

#include "packhorse/reader/loader.h"
#include "packhorse/trainer/recipe/scores.h"

namespace packhorse::trainer {

/// The progress of training: figures since the last report, and totals.
struct StepMetrics {
  int epoch = 0, epochs = 0;                     ///< counted from 1
  std::int64_t step = 0;                         ///< steps done in the whole run
  std::int64_t epoch_step = 0, epoch_steps = 0;  ///< done in this epoch; in a whole epoch
  double loss = 0;                               ///< mean of the stretch
  double lr = 0;                                 ///< of the last step
  double images_per_s = 0;
  double data_wait_share = 0;  ///< of the time, 0..1
  /// Reserved memory, and the part of it that is allocated (PeakMemory); 0 on the CPU.
  std::uint64_t device_memory_bytes = 0, device_memory_allocated_bytes = 0;
  reader::LoaderCounters loader = {};  ///< totals since the loader was made
};

/// Scores on the validation data after an epoch.
struct ScoreMetrics {
  int epoch = 0;          ///< counted from 1
  std::int64_t step = 0;  ///< steps done in the whole run
  Scores scores = {};
};

/// A figure of training, and its name in each place that shows it; null: it is not shown there.
struct Figure {
  const char* tag;     ///< of TensorBoard
  const char* key;     ///< in steps.jsonl
  const char* metric;  ///< of Prometheus
  const char* type;    ///< of the metric: counter or gauge
  const char* help;
  /// JSON's null where it is unknown.
  nlohmann::ordered_json (*value)(const StepMetrics&);
};
/// All figures, but those of the loader: they are reader::loader_metrics() in all places.
std::span<const Figure> step_figures();

}  // namespace packhorse::trainer
