#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "packhorse/reader/metrics.h"
#include "watch/trace.h"

namespace packhorse::trainer {

/// How a run is watched, apart from the events that its caller gets.
struct WatchOptions {
  bool files = true;  ///< steps.jsonl and tensorboard/ in the run's directory
  std::optional<int> metrics_port =
      {};  ///< for Prometheus, on this machine's `metrics_address`; 0: any
  std::string metrics_address = "127.0.0.1";
  std::filesystem::path trace = {};  ///< a file; empty: no trace
  StepSpan trace_steps = {};
  /// Counters of the program around the run, to be served and written with the run's own; without
  /// labels. Called from several threads.
  std::function<std::vector<reader::MetricFamily>()> more = {};
};

}  // namespace packhorse::trainer
