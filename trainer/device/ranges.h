#pragma once

#include <ATen/record_function.h>

namespace packhorse::trainer {

/// Names a stretch of a thread's time, from here to the end of the scope:
///
///     { const Range range("forward"); ... }
///
/// The trace of --trace shows the range, and so does Nsight Systems if the program was built with
/// NVIDIA's headers. A range costs some nanoseconds when no tool listens. `name` must be a literal.
class Range {
 public:
  explicit Range(const char* name);
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  at::RecordFunction guard_;
};

}  // namespace packhorse::trainer
