#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "watch/step_metrics.h"

namespace packhorse::trainer {

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
