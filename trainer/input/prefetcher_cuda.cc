#include "input/prefetcher_impl.h"
#include "packhorse/base/error.h"
#include "packhorse/trainer/device/ranges.h"

#ifdef PACKHORSE_TORCH_HAS_CUDA

#include <ATen/cuda/CUDAEvent.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "packhorse/trainer/input/gpu_decode.h"

namespace packhorse::trainer {
namespace {

/// Makes the host sleep while it waits for such an event. By default it spins, on a core that the
/// reader's threads need.
constexpr unsigned int kSleeping = cudaEventDisableTiming | cudaEventBlockingSync;

/// One of the buffers on the GPU.
struct Buffer {
  at::Tensor images, labels;              ///< large enough for the largest batch
  at::Tensor pinned_labels;               ///< the loader's slots pin only the pixels
  at::cuda::CUDAEvent copied{kSleeping};  ///< on a copy stream: the batch is there
  at::cuda::CUDAEvent used;  ///< on the compute stream: nothing queued reads it any more
};

/// Batches alternate between lanes: while the GPU decodes one, the next is parsed and queued.
struct Lane {
  c10::cuda::CUDAStream stream;
  std::optional<GpuDecoder> decoder = {};  ///< for samples that the loader left encoded
};
constexpr std::size_t kLanes = 2;

/// A batch that is being copied or decoded. It keeps the loader's slot until that is done.
struct Flight {
  reader::Batch batch;
  Buffer* buffer;
};

class UploadPrefetcher final : public Prefetcher::Impl {
 public:
  UploadPrefetcher(reader::Loader& loader, const Device& device, int depth)
      : loader_(loader),
        index_(static_cast<c10::DeviceIndex>(device.index)),
        buffers_(static_cast<std::size_t>(depth)) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      lanes_.emplace_back(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, index_));
    }
  }

  ~UploadPrefetcher() override { stop(); }

  void start_epoch(std::uint64_t epoch, std::uint64_t done) override {
    stop();
    loader_.start_epoch(epoch, done);
    ready_.clear();
    failure_ = nullptr;
    ended_ = false;
    free_.clear();
    for (Buffer& buffer : buffers_) free_.push_back(&buffer);
    copier_ = std::jthread([this](const std::stop_token& token) { copy_all(token); });
  }

  std::optional<DeviceBatch> next() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ready_.empty() || ended_; });
    if (ready_.empty()) {
      if (failure_) std::rethrow_exception(failure_);
      return std::nullopt;
    }
    auto [buffer, batch] = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    buffer->copied.block(c10::cuda::getCurrentCUDAStream(index_));
    batch.lease = std::shared_ptr<void>(buffer, [this](Buffer* given) { give_back(given); });
    return std::move(batch);
  }

 private:
  // Drops any loader batches left: start_epoch() begins anew.
  void stop() {
    {
      // The mutex is needed: otherwise the copier could miss the request between its check and its
      // wait.
      const std::lock_guard lock(mutex_);
      copier_.request_stop();
    }
    changed_.notify_all();
    if (copier_.joinable()) copier_.join();
  }

  void give_back(Buffer* buffer) {
    buffer->used.record(c10::cuda::getCurrentCUDAStream(index_));
    {
      const std::lock_guard lock(mutex_);
      free_.push_back(buffer);
    }
    changed_.notify_all();
  }

  void copy_all(const std::stop_token& token) {
    std::deque<Flight> flying;
    try {
      for (std::size_t turn = 0; Buffer* buffer = wait_for_buffer(token); ++turn) {
        std::optional<reader::Batch> batch = loader_.next();
        if (!batch) break;
        const auto begin = std::chrono::steady_clock::now();
        const bool decodes = !batch->encoded().empty();
        DeviceBatch out = copy(*batch, *buffer, lanes_[turn % kLanes]);
        flying.push_back({std::move(*batch), buffer});
        {
          const std::lock_guard lock(mutex_);
          ready_.emplace_back(buffer, std::move(out));
        }
        changed_.notify_all();
        // The loader decodes ahead only into slots that it has back. When pixels are only copied,
        // there is nothing to do for the next batch meanwhile.
        land(flying, decodes ? kLanes - 1 : 0);
        copy_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
    try {
      land(flying, 0);  // otherwise the loader would write into slots that are still being read
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
  }

  /// Waits until no more than `left` batches are under way; gives the slots of the others back.
  static void land(std::deque<Flight>& flying, std::size_t left) {
    for (; flying.size() > left; flying.pop_front()) flying.front().buffer->copied.synchronize();
  }

  /// Returns nullptr to stop.
  Buffer* wait_for_buffer(const std::stop_token& token) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !free_.empty() || token.stop_requested(); });
    if (token.stop_requested()) return nullptr;
    Buffer* const buffer = free_.front();
    free_.pop_front();
    return buffer;
  }

  DeviceBatch copy(reader::Batch& batch, Buffer& buffer, Lane& lane) {
    const Range range("copy");
    const c10::cuda::CUDAStreamGuard guard(lane.stream);
    const auto images = view_images(batch);
    const bool decodes = !batch.encoded().empty();
    if (decodes && !lane.decoder) {
      lane.decoder.emplace(Device{Device::Kind::kCuda, static_cast<int>(index_)}, batch.size());
    }
    const auto labels = view_labels(batch);
    if (!buffer.images.defined() || buffer.images.size(0) < batch.size()) {
      const at::Device device(at::kCUDA, index_);
      buffer.images = at::empty(images.sizes(), images.options().device(device));
      buffer.labels = at::empty(labels.sizes(), labels.options().device(device));
      buffer.pinned_labels = at::empty(labels.sizes(), labels.options().pinned_memory(true));
    }
    buffer.used.block(lane.stream);
    DeviceBatch out{.images = buffer.images.narrow(0, 0, batch.size()),
                    .labels = buffer.labels.narrow(0, 0, batch.size()),
                    .size = batch.size(),
                    .after = loader_.state(),
                    .samples = {batch.samples().begin(), batch.samples().end()},
                    .targets = batch.take_targets(),
                    .lease = {}};
    const auto pinned = buffer.pinned_labels.narrow(0, 0, batch.size());
    pinned.copy_(labels);
    if (decodes) {
      lane.decoder->upload(batch, out.images);
    } else {
      out.images.copy_(images, /*non_blocking=*/true);
    }
    out.labels.copy_(pinned, /*non_blocking=*/true);
    buffer.copied.record(lane.stream);
    return out;
  }

  reader::Loader& loader_;
  const c10::DeviceIndex index_;
  std::vector<Buffer> buffers_;
  std::deque<Lane> lanes_;  // not a vector: a decoder does not move

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Buffer*> free_;
  std::deque<std::pair<Buffer*, DeviceBatch>> ready_;
  std::exception_ptr failure_;
  bool ended_ = true;
  std::jthread copier_;  // last: it uses all of the above
};

}  // namespace

std::unique_ptr<Prefetcher::Impl> make_upload_prefetcher(reader::Loader& loader,
                                                         const Device& device, int depth) {
  return std::make_unique<UploadPrefetcher>(loader, device, depth);
}

}  // namespace packhorse::trainer

#else

namespace packhorse::trainer {

std::unique_ptr<Prefetcher::Impl> make_upload_prefetcher(reader::Loader&, const Device&, int) {
  throw Error(ErrorKind::kUnsupported, "this build of packhorse has no CUDA", {},
              "build it with a LibTorch that has CUDA, or use --device cpu");
}

}  // namespace packhorse::trainer

#endif
