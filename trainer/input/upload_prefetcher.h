#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "base/stop.h"
#include "device/ranges.h"
#include "input/prefetcher_impl.h"

namespace packhorse::trainer {

/// The prefetcher of a GPU. `Gpu` is Cuda (input/cuda.h), or what a test has instead.
///
/// Memory is used again only when nothing reads it any more. For what the GPU does later, an event
/// is enough that its stream waits for (Buffer::used before a copy). For what the host does now,
/// which is to write labels and to free memory, the host waits itself.
template <class Gpu>
class UploadPrefetcher final : public Prefetcher::Impl {
 public:
  UploadPrefetcher(reader::Loader& loader, Gpu gpu, int depth)
      : loader_(loader), gpu_(std::move(gpu)), buffers_(static_cast<std::size_t>(depth)) {
    for (std::size_t i = 0; i < kLanes; ++i) lanes_.push_back({.stream = gpu_.copy_stream(i)});
  }

  ~UploadPrefetcher() override {
    stop();
    try {
      for (Buffer& buffer : buffers_) buffer.used.synchronize();  // its memory is freed now
    } catch (...) {  // the device is lost, and its memory with it
    }
  }

  void start_epoch(std::uint64_t epoch, std::uint64_t done) override {
    stop();
    loader_.start_epoch(epoch, done);
    ready_.clear();
    failure_ = nullptr;
    ended_ = false;
    free_.clear();
    for (Buffer& buffer : buffers_) free_.push_back(&buffer);
    copier_ = std::jthread([this, stop = current_stop()](const std::stop_token& token) {
      const StopScope scope(stop);  // where the loader has no threads, it works in this one
      copy_all(token);
    });
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
    buffer->copied.block(gpu_.current());
    batch.lease = std::shared_ptr<void>(buffer, [this](Buffer* given) { give_back(given); });
    return std::move(batch);
  }

 private:
  using Stream = typename Gpu::Stream;

  /// One of the buffers on the GPU.
  struct Buffer {
    at::Tensor images, labels;   ///< large enough for the largest batch
    at::Tensor pinned_labels;    ///< the loader's slots pin only the pixels
    typename Gpu::Event copied;  ///< on a copy stream: the batch is there
    typename Gpu::Event used;    ///< on the compute stream: nothing queued reads it any more
  };

  /// Batches alternate between lanes: while the GPU decodes one, the next is parsed and queued.
  struct Lane {
    Stream stream;
    std::unique_ptr<typename Gpu::Decoder> decoder = {};  ///< for samples that are left encoded
  };
  static constexpr std::size_t kLanes = 2;

  /// A batch that is being copied or decoded. It keeps the loader's slot until that is done.
  struct Flight {
    reader::Batch batch;
    Buffer* buffer;
  };

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

  void give_back(Buffer* buffer) noexcept {
    try {
      buffer->used.record(gpu_.current());
    } catch (...) {
      keep_failure();  // the device's: a destructor cannot say it
    }
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
        flying.push_back({std::move(*batch), buffer});
        DeviceBatch out = copy(flying.back().batch, *buffer, lanes_[turn % kLanes]);
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
      keep_failure();
    }
    try {
      // Otherwise the loader would write into slots that are still being read. After a failure
      // there is no event behind what was queued last.
      for (const Lane& lane : lanes_) lane.stream.synchronize();
    } catch (...) {
      keep_failure();
    }
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
  }

  void keep_failure() {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
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
    const typename Gpu::On guard(lane.stream);
    const auto images = view_images(batch);
    const auto labels = view_labels(batch);
    const bool decodes = !batch.encoded().empty();
    if (decodes && !lane.decoder) lane.decoder = gpu_.make_decoder();
    make_room(buffer, images);
    buffer.used.block(lane.stream);
    DeviceBatch out{.images = buffer.images.narrow(0, 0, batch.size()),
                    .labels = buffer.labels.narrow(0, 0, batch.size()),
                    .size = batch.size(),
                    .after = loader_.state(),
                    .samples = {batch.samples().begin(), batch.samples().end()},
                    .targets = batch.take_targets(),
                    .lease = {}};
    const auto pinned = buffer.pinned_labels.narrow(0, 0, batch.size());
    buffer.copied.synchronize();  // the batch before may have been given back before it was copied
    pinned.copy_(labels);
    if (decodes) {
      lane.decoder->upload(batch, out.images);
    } else {
      gpu_.copy(out.images, images);
    }
    gpu_.copy(out.labels, pinned);
    buffer.copied.record(lane.stream);
    return out;
  }

  void make_room(Buffer& buffer, const at::Tensor& images) {
    if (buffer.images.defined() && buffer.images.size(0) >= images.size(0)) return;
    buffer.used.synchronize();  // freed memory is used again without waiting for other streams
    buffer.images = gpu_.on_device(images.sizes(), images.scalar_type());
    buffer.labels = gpu_.on_device({images.size(0)}, at::kLong);
    buffer.pinned_labels = gpu_.pinned({images.size(0)}, at::kLong);
  }

  reader::Loader& loader_;
  const Gpu gpu_;
  std::vector<Buffer> buffers_;
  std::vector<Lane> lanes_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Buffer*> free_;
  std::deque<std::pair<Buffer*, DeviceBatch>> ready_;
  std::exception_ptr failure_;
  bool ended_ = true;
  std::jthread copier_;  // last: it uses all of the above
};

}  // namespace packhorse::trainer
