#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "packhorse/reader/dataset.h"
#include "packhorse/reader/loader.h"
#include "packhorse/trainer/device/device.h"
#include "packhorse/trainer/watch/watch_options.h"

namespace packhorse::trainer {

struct EpochLog;
struct StepReport;

/// The run that is watched.
struct WatchedRun {
  std::filesystem::path out{};     ///< folder of the run's files; empty: none are written
  std::int64_t resumed_step = -1;  ///< steps done before this call, if it goes on with a run
  Device device{};
  bool gpu_decode = false;                         ///< the GPU decodes JPEGs
  int rank = 0, world = 1;                         ///< in data parallel training
  int local_rank = 0, local_world = 1;             ///< among the processes on this machine
  std::function<void(const std::string&)> note{};  ///< hears what people should know; may be empty
};

/// All ways to watch a run in one place: step metrics as JSON lines and for TensorBoard, the
/// endpoint for Prometheus, the trace, and advice when training waits for data.
///
///     Watch watch(options, {.out = "run", .device = device});
///     loader_options.observer = watch.observer();
///     const auto watching = watch.loader(loader, *dataset);    // as long as the loader lives
///     for each step { watch.before_step(step); ... }
///     watch.on_step(report);  watch.on_epoch(log);             // where FitEvents are called
///     watch.finish();
///
/// In data parallel training each rank has a Watch. Rank 0 writes files; metrics are labelled with
/// the rank and served at port + local rank; a trace's name gets the rank. One thread.
class Watch {
 public:
  /// Throws Error when a file cannot be written or the port cannot be used.
  Watch(const WatchOptions& options, WatchedRun run);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// The port at which metrics are served; nothing without an endpoint.
  std::optional<int> metrics_port() const;
  /// For LoaderOptions; empty where there is nothing to observe.
  reader::StageObserver observer() const;
  /// Reads the loader's counters until the returned guard is destroyed, which must happen before
  /// `loader` and `dataset` are.
  std::shared_ptr<void> loader(const reader::Loader& loader, const reader::Dataset& dataset);

  /// Call before each step. `step`: steps done in the whole run.
  void before_step(std::int64_t step);
  void on_step(const StepReport& report);
  void on_epoch(const EpochLog& log);
  /// Call at the end of training that ended well: writes what is left to write.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace packhorse::trainer
