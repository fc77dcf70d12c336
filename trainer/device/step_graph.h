#pragma once

#include <functional>
#include <memory>

#include "packhorse/trainer/device/device.h"

namespace packhorse::trainer {

/// Repeats the same work as one CUDA graph. The first few runs execute the work directly, on a
/// stream of its own, so that libraries choose their algorithms and allocate; then it is captured,
/// and from then on replayed. Everything the work reads must keep its place in memory. One thread
/// at a time.
class StepGraph {
 public:
  /// Throws Error(kUsage) for the CPU, and Error(kUnsupported) where LibTorch has no CUDA.
  explicit StepGraph(const Device& device);
  ~StepGraph();
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;

  /// Runs after what the current stream has queued and before what is queued next.
  void run(const std::function<void()>& work);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace packhorse::trainer
