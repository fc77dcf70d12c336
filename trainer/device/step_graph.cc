#include "device/step_graph.h"

#include "packhorse/base/error.h"

#ifdef PACKHORSE_TORCH_HAS_CUDA
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace packhorse::trainer {
namespace {

void require_gpu(const Device& device) {
  if (device.is_cuda()) return;
  throw Error(ErrorKind::kUsage, "CUDA graphs need a GPU", {}, "leave out `cuda_graph=`");
}

}  // namespace

#ifdef PACKHORSE_TORCH_HAS_CUDA

namespace {

/// PyTorch's own number, enough for cuDNN's choices and the optimiser's lazy parts.
constexpr int kWarmUps = 3;

/// Makes `later` wait until everything queued on `sooner` so far is done.
void follow(const c10::cuda::CUDAStream& later, const c10::cuda::CUDAStream& sooner) {
  at::cuda::CUDAEvent done;
  done.record(sooner);
  done.block(later);
}

/// Takes a stream out of a capture that has failed: as long as one is open, everything that is
/// queued on the stream fails with it, and hides the first error.
void end_capture(at::cuda::CUDAGraph& graph) {
  try {
    graph.capture_end();
  } catch (const c10::Error&) {  // says that the capture has failed
  }
}

}  // namespace

struct StepGraph::Impl {
  explicit Impl(c10::DeviceIndex index_)
      : index(index_), side(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, index_)) {}

  c10::DeviceIndex index;
  c10::cuda::CUDAStream side;
  at::cuda::CUDAGraph graph;
  int warm_ups = 0;
  bool captured = false;
};

StepGraph::StepGraph(const Device& device) {
  require_gpu(device);
  impl_ = std::make_unique<Impl>(static_cast<c10::DeviceIndex>(device.index));
}

void StepGraph::run(const std::function<void()>& work) {
  if (impl_->captured) {
    impl_->graph.replay();
    return;
  }
  const auto current = c10::cuda::getCurrentCUDAStream(impl_->index);
  follow(impl_->side, current);
  {
    const c10::cuda::CUDAStreamGuard guard(impl_->side);
    if (impl_->warm_ups < kWarmUps) {
      work();
      ++impl_->warm_ups;
    } else {
      impl_->side.synchronize();
      // A graph has its own pool of memory and cannot use what earlier steps have left in the
      // cache, so the cache is emptied first. torch.cuda.graph() does the same.
      c10::cuda::CUDACachingAllocator::emptyCache();
      // The prefetcher's thread may make CUDA calls during the capture.
      impl_->graph.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
      try {
        work();
      } catch (...) {
        end_capture(impl_->graph);
        throw;
      }
      impl_->graph.capture_end();
      impl_->captured = true;
    }
  }
  follow(current, impl_->side);
  if (impl_->captured) impl_->graph.replay();  // capturing did nothing yet
}

#else

struct StepGraph::Impl {};

StepGraph::StepGraph(const Device& device) {
  require_gpu(device);
  throw Error(ErrorKind::kUnsupported, "this build of packhorse has no CUDA", {},
              "leave out `cuda_graph=`");
}

void StepGraph::run(const std::function<void()>&) {}

#endif

StepGraph::~StepGraph() = default;

}  // namespace packhorse::trainer
