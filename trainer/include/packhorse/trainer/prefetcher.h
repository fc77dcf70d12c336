#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>

#include "packhorse/reader/loader.h"
#include "packhorse/trainer/device.h"

namespace packhorse::trainer {

/// A batch where the model computes. Must not outlive its Prefetcher.
struct DeviceBatch {
  at::Tensor images;  ///< uint8 [B, S, S, 3]
  at::Tensor labels;  ///< int64 [B]
  std::int64_t size = 0;
  reader::LoaderState after;           ///< where the run stands once this batch is done
  std::optional<reader::Batch> lease;  ///< on the CPU the tensors are views of this slot
};

/// Brings a loader's batches to the device.
///
///     Prefetcher batches(loader, device);
///     loader.start_epoch(0);
///     while (std::optional<DeviceBatch> batch = batches.next()) train(batch->images,
///     batch->labels);
///
/// On a GPU the copy is queued on the current stream, and the slot goes back to the loader once an
/// event says that the copy is done; on the CPU nothing is copied. One thread; must not outlive the
/// loader.
class Prefetcher {
 public:
  Prefetcher(reader::Loader& loader, const Device& device);
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// Nothing at the end of the epoch. Throws Error.
  std::optional<DeviceBatch> next();
  /// Seconds spent in next() so far, waiting for the loader.
  double wait_seconds() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace packhorse::trainer
