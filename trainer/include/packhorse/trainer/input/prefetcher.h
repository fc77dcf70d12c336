#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>

#include "packhorse/reader/loader.h"
#include "packhorse/trainer/device/device.h"

namespace packhorse::trainer {

/// A batch where the model computes: a lease on the memory that the tensors lie in, which goes back
/// when the batch is destroyed. On a GPU that may be while work queued on the current stream still
/// reads it: an event is recorded, and the next copy into that memory waits for it. Must not
/// outlive its Prefetcher. Move-only.
struct DeviceBatch {
  at::Tensor images;  ///< uint8 [B, S, S, 3]
  at::Tensor labels;  ///< int64 [B]
  std::int64_t size = 0;
  reader::LoaderState after;    ///< where the run stands once this batch is done
  std::shared_ptr<void> lease;  ///< what gives the memory back
};

/// Brings a loader's batches to the device, ahead of the step that needs them.
///
///     Prefetcher batches(loader, device);
///     batches.start_epoch(0);
///     while (std::optional<DeviceBatch> batch = batches.next()) {
///       train(batch->images, batch->labels);
///     }
///
/// On a GPU a thread takes batches from the loader and copies them, on streams of its own, into
/// `depth` buffers that stay where they are: uint8, a quarter of what floats would take. The
/// loader's pinned slot goes back as soon as its copy is done; of batches that the GPU decodes, two
/// are under way, so that one is parsed and queued while the other is decoded. The stream that is
/// current in next() waits for the copy; the host never does. Fixed buffers with two events each,
/// not record_stream(): nothing is allocated after the first batch, and a captured CUDA graph can
/// read them.
///
/// On the CPU the tensors are views of the loader's slot, and nothing is copied.
///
/// One thread calls everything, and nobody else the loader's next() and start_epoch(); must not
/// outlive the loader.
class Prefetcher {
 public:
  /// `depth`: batches on the GPU, 2 or more; not used on the CPU.
  Prefetcher(reader::Loader& loader, const Device& device, int depth = 3);
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// As Loader::start_epoch(). All batches of the epoch before must have been given back.
  void start_epoch(std::uint64_t epoch, std::uint64_t done = 0);
  /// Nothing at the end of the epoch. Throws Error, what the loader threw.
  std::optional<DeviceBatch> next();
  /// Seconds spent in next() so far, waiting for a batch.
  double wait_seconds() const;
  /// Seconds that copies to the GPU took, beside everything else; 0 on the CPU.
  double copy_seconds() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace packhorse::trainer
