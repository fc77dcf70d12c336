#pragma once

#include <ATen/ops/from_blob.h>

#include <atomic>

#include "input/prefetcher.h"

namespace packhorse::trainer {

struct Prefetcher::Impl {
  virtual ~Impl() = default;
  virtual void start_epoch(std::uint64_t epoch, std::uint64_t done) = 0;
  virtual std::optional<DeviceBatch> next() = 0;
  double wait_s = 0;
  std::atomic<double> copy_s = 0;
};

/// Copies to a GPU. Throws Error(kUnsupported) where LibTorch has no CUDA.
std::unique_ptr<Prefetcher::Impl> make_upload_prefetcher(reader::Loader& loader,
                                                         const Device& device, int depth);

/// uint8 [B, H, W, 3], or float of as many channels as the loader gives.
inline at::Tensor view_images(const reader::Batch& batch) {
  const auto images = batch.images();
  const std::int64_t numbers =
      batch.size() * batch.height() * batch.width() * std::int64_t{batch.channels()};
  const bool bytes = numbers == static_cast<std::int64_t>(images.size());
  return at::from_blob(images.data(),
                       {batch.size(), batch.height(), batch.width(), batch.channels()},
                       bytes ? at::kByte : at::kFloat);
}

inline at::Tensor view_labels(const reader::Batch& batch) {
  // from_blob takes no const; the trainer only reads labels.
  return at::from_blob(const_cast<std::int64_t*>(batch.labels().data()), {batch.size()}, at::kLong);
}

}  // namespace packhorse::trainer
