#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "packhorse/reader/loader.h"
#include "packhorse/trainer/watch/watch_options.h"

namespace packhorse::trainer {

/// Records some steps for chrome://tracing or https://ui.perfetto.dev: every operator and kernel,
/// the Ranges of ranges.h, and what the loader's threads read and decoded.
///
///     StepTrace trace("trace.json", {.begin = 5, .end = 15});
///     options.observer = trace.observer();       // of the loader
///     while (...) { trace.at_step(step); ... }   // before each step
///     trace.finish();                            // when training ended before `end`
///
/// One thread, apart from the observer. One trace at a time in a process.
class StepTrace {
 public:
  StepTrace(std::filesystem::path path, const StepSpan& span);
  ~StepTrace();  ///< abandons a trace that is under way
  StepTrace(const StepTrace&) = delete;
  StepTrace& operator=(const StepTrace&) = delete;

  /// Call before each step; repeated calls for a step are allowed. Starts the trace, or ends and
  /// writes it. Returns whether it was written just now. Throws Error(kIo | kNoSpace).
  bool at_step(std::int64_t step);
  /// Writes what a trace under way has so far. Returns whether there was one.
  bool finish();

  /// May outlive the trace.
  reader::StageObserver observer() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace packhorse::trainer
