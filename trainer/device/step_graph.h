#pragma once

#include <functional>
#include <memory>

#include "packhorse/trainer/device/device.h"

namespace packhorse::trainer {

/// Runs the same work again and again as one CUDA graph: a few times as it is, on a stream of its
/// own, so that libraries choose their algorithms and allocate; then it is captured, and from then
/// on replayed. Everything the work reads must keep its place in memory. One thread at a time.
class StepGraph {
 public:
  /// Throws Error(kUsage) for the CPU, and Error(kUnsupported) where LibTorch has no CUDA.
  explicit StepGraph(const Device& device);
  ~StepGraph();
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;

  /// Queued behind what the current stream has, and before what it gets afterwards.
  void run(const std::function<void()>& work);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace packhorse::trainer
