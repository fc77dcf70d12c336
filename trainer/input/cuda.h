#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "input/gpu_decode.h"
#ifdef PACKHORSE_WITH_NVJPEG
#include "input/gpu_decode/crop_kernel.h"
#include "input/gpu_decode/nvjpeg_library.h"
#endif

namespace packhorse::trainer {

/// The GPU as UploadPrefetcher and BatchDecoder see it. Tests have another, whose streams are
/// threads.
class Cuda {
 public:
  using Stream = c10::cuda::CUDAStream;
  using On = c10::cuda::CUDAStreamGuard;
  using Decoder = GpuDecoder;

  /// A mark in a stream. synchronize() makes the host sleep: by default it spins, on a core that
  /// the reader's threads need.
  class Event : public at::cuda::CUDAEvent {
   public:
    Event() : CUDAEvent(cudaEventDisableTiming | cudaEventBlockingSync) {}
  };

  explicit Cuda(int index) : index_(static_cast<c10::DeviceIndex>(index)) {}

  /// Stream `number` of those that batches are copied on: each time the same one. LibTorch keeps
  /// freed memory for the stream that it was allocated on, so that new streams for each prefetcher
  /// would leave its memory behind.
  Stream copy_stream(std::size_t number) const {
    static std::mutex mutex;
    static std::map<std::pair<c10::DeviceIndex, std::size_t>, Stream> streams;
    const std::lock_guard lock(mutex);
    const auto key = std::pair(index_, number);
    const auto found = streams.find(key);
    if (found != streams.end()) return found->second;
    return streams.emplace(key, c10::cuda::getStreamFromPool(/*isHighPriority=*/true, index_))
        .first->second;
  }
  Stream current() const { return c10::cuda::getCurrentCUDAStream(index_); }

  at::Tensor on_device(at::IntArrayRef sizes, at::ScalarType type) const {
    return at::empty(sizes, at::TensorOptions(at::Device(at::kCUDA, index_)).dtype(type));
  }
  at::Tensor pinned(at::IntArrayRef sizes, at::ScalarType type) const {
    return at::empty(sizes, at::TensorOptions().dtype(type).pinned_memory(true));
  }
  /// Queues a copy on the current stream.
  void copy(const at::Tensor& to, const at::Tensor& from) const {
    to.copy_(from, /*non_blocking=*/true);
  }

  std::unique_ptr<Decoder> make_decoder() const {
    return std::make_unique<Decoder>(Device{Device::Kind::kCuda, index_});
  }
#ifdef PACKHORSE_WITH_NVJPEG
  const NvJpegLibrary& nvjpeg() const { return NvJpegLibrary::get(); }
  void launch_crops(const CropTask* tasks, int count, int size, const Stream& stream) const {
    trainer::launch_crops(tasks, count, size, stream);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
#endif

 private:
  c10::DeviceIndex index_;
};

}  // namespace packhorse::trainer
