#include "packhorse/trainer/prefetcher.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <chrono>
#include <cmath>
#include <deque>

#ifdef PACKHORSE_TORCH_HAS_CUDA
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace packhorse::trainer {
namespace {

using Clock = std::chrono::steady_clock;

at::Tensor view_images(const reader::Batch& batch) {
  const auto images = batch.images();
  const auto area = static_cast<std::int64_t>(images.size()) / (3 * batch.size());
  auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(area)));
  while (side * side < area) ++side;
  return at::from_blob(images.data(), {batch.size(), side, side, 3}, at::kByte);
}

at::Tensor view_labels(const reader::Batch& batch) {
  // from_blob takes no const; the trainer only reads labels.
  return at::from_blob(const_cast<std::int64_t*>(batch.labels().data()), {batch.size()}, at::kLong);
}

}  // namespace

#ifdef PACKHORSE_TORCH_HAS_CUDA

/// Slots whose copy to the GPU is queued, oldest first.
class Uploads {
 public:
  ~Uploads() {
    while (!slots_.empty()) release_oldest();
  }
  void release_done() {
    while (!slots_.empty() && slots_.front().copied.query()) slots_.pop_front();
    // The loader works ahead only in slots it has back.
    while (slots_.size() >= kInFlight) release_oldest();
  }
  void add(reader::Batch batch, c10::DeviceIndex device) {
    slots_.push_back({std::move(batch), {}});
    slots_.back().copied.record(c10::cuda::getCurrentCUDAStream(device));
  }

 private:
  struct Slot {
    reader::Batch batch;
    at::cuda::CUDAEvent copied;
  };
  void release_oldest() {
    slots_.front().copied.synchronize();
    slots_.pop_front();
  }
  static constexpr std::size_t kInFlight = 2;
  std::deque<Slot> slots_;
};

#endif

struct Prefetcher::Impl {
  reader::Loader& loader;
  Device device;
  double wait_s = 0;
#ifdef PACKHORSE_TORCH_HAS_CUDA
  Uploads uploads{};
#endif

  std::optional<reader::Batch> wait_for_batch() {
    const auto begin = Clock::now();
    std::optional<reader::Batch> batch = loader.next();
    wait_s += std::chrono::duration<double>(Clock::now() - begin).count();
    return batch;
  }

  // The copy is asynchronous only from pinned slots; from others LibTorch waits for it.
  [[maybe_unused]] void upload(DeviceBatch& out, reader::Batch batch) {
#ifdef PACKHORSE_TORCH_HAS_CUDA
    const auto index = static_cast<c10::DeviceIndex>(device.index);
    const c10::cuda::CUDAGuard guard(index);
    const at::Device target(at::kCUDA, index);
    // Pixels lie in a pinned slot, labels do not: those are copied through LibTorch's own pinned
    // memory.
    out.images = view_images(batch).to(target, /*non_blocking=*/true);
    out.labels = view_labels(batch).pin_memory().to(target, /*non_blocking=*/true);
    uploads.add(std::move(batch), index);
#else
    out.images = view_images(batch).to(at::kCUDA);
    out.labels = view_labels(batch).to(at::kCUDA);
#endif
  }
};

Prefetcher::Prefetcher(reader::Loader& loader, const Device& device)
    : impl_(new Impl{.loader = loader, .device = device}) {}
Prefetcher::~Prefetcher() = default;

double Prefetcher::wait_seconds() const { return impl_->wait_s; }

std::optional<DeviceBatch> Prefetcher::next() try {
#ifdef PACKHORSE_TORCH_HAS_CUDA
  impl_->uploads.release_done();
#endif
  std::optional<reader::Batch> batch = impl_->wait_for_batch();
  if (!batch) return std::nullopt;
  std::optional<DeviceBatch> out(std::in_place);
  out->size = batch->size();
  out->after = impl_->loader.state();
  if (impl_->device.is_cuda()) {
    impl_->upload(*out, std::move(*batch));
  } else {
    out->images = view_images(*batch);
    out->labels = view_labels(*batch);
    out->lease = std::move(batch);
  }
  return out;
} catch (...) {
  rethrow_as_error();
}

}  // namespace packhorse::trainer
