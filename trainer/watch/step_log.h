#pragma once

#include <filesystem>

#include "base/file.h"
#include "watch/step_metrics.h"

namespace packhorse::trainer {

/// Step metrics as JSON lines, one per report:
///
///     {"epoch":1,"step":20,"loss":2.1,"lr":0.1,"images_per_s":3100.5,"data_wait_share":0.01,...}
///
/// The file grows with the run and is for following it live: lines go to the kernel as they come,
/// and are not synced. One thread.
class StepLog {
 public:
  /// Opens a new file, or, with `resumed_step` >= 0, the old one. From the old one it removes the
  /// lines of later steps, which the run will write again, and a line that was cut off. Throws
  /// Error(kIo | kNoSpace).
  explicit StepLog(std::filesystem::path path, std::int64_t resumed_step = -1);

  /// Throws Error(kIo | kNoSpace).
  void add(const StepMetrics& metrics);

 private:
  std::filesystem::path path_;
  UniqueFd file_;
};

}  // namespace packhorse::trainer
