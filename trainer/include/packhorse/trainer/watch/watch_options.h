#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "packhorse/reader/metrics.h"

namespace packhorse::trainer {

/// The steps of this call that a trace holds: [begin, end), counted from 0.
struct StepSpan {
  std::int64_t begin = 5, end = 15;  ///< the first steps are unlike those that follow
  /// "10": ten steps after the first 5; "20:30": from step 20 up to 30. Throws Error(kUsage).
  static StepSpan parse(const std::string& text);
  friend bool operator==(const StepSpan&, const StepSpan&) = default;
};

/// How a run is watched, apart from the events that its caller gets.
struct WatchOptions {
  bool files = true;  ///< steps.jsonl and tensorboard/ in the run's directory
  std::optional<int> metrics_port =
      {};  ///< for Prometheus, on this machine's `metrics_address`; 0: any
  std::string metrics_address = "127.0.0.1";
  /// A file; empty: no trace. Without a GPU, it sets KINETO_LOG_LEVEL in the environment of the
  /// process, unless that is set.
  std::filesystem::path trace = {};
  StepSpan trace_steps = {};
  /// Counters of the program around the run, to be served and written with the run's own; without
  /// labels. Called from several threads.
  std::function<std::vector<reader::MetricFamily>()> more = {};
};

}  // namespace packhorse::trainer
