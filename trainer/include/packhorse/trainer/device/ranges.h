#pragma once

#include <ATen/record_function.h>

namespace packhorse::trainer {

/// Names a stretch of a thread's time, from here to the end of the scope:
///
///     { const Range range("forward"); ... }
///
/// It is seen in the trace of --trace and, where the program was built with NVIDIA's headers, in
/// Nsight Systems. Without a tool that listens it takes some nanoseconds. `name` must be a literal.
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
