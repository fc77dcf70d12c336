#pragma once

#include <filesystem>
#include <fstream>

#include "packhorse/trainer/watch/step_metrics.h"

namespace packhorse::trainer {

/// Step metrics as JSON lines, one a report:
///
///     {"epoch":1,"step":20,"loss":2.1,"lr":0.1,"images_per_s":3100.5,"data_wait_share":0.01,...}
///
/// The file grows with the run and is for looking at while it lasts: lines are given to the kernel
/// as they come, and not synced. One thread.
class StepLog {
 public:
  /// A new file, or, with `resumed_step` >= 0, the old one without lines of later steps, which the
  /// run is going to write again, and without a line that was cut. Throws Error(kIo | kNoSpace).
  explicit StepLog(std::filesystem::path path, std::int64_t resumed_step = -1);

  /// Throws Error(kIo | kNoSpace).
  void add(const StepMetrics& metrics);

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace packhorse::trainer
