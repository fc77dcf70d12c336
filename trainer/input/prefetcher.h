#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>

#include "packhorse/reader/loader.h"
#include "packhorse/trainer/device/device.h"

namespace packhorse::trainer {

/// A batch on the device that the model computes on. It leases the memory of its tensors and gives
/// it back when destroyed. On a GPU it may be destroyed while work queued on the current stream
/// still reads that memory: an event is recorded, and the next copy into the memory waits for it.
/// Must not outlive its Prefetcher. Move-only.
struct DeviceBatch {
  at::Tensor images;  ///< uint8 [B, H, W, 3]; of LoaderOptions::bands, float [B, H, W, bands]
  at::Tensor labels;  ///< int64 [B]
  std::int64_t size = 0;
  reader::LoaderState after = {};           ///< where the run stands once this batch is done
  std::vector<std::uint64_t> samples = {};  ///< their numbers in the dataset
  reader::BatchTargets targets = {};        ///< what the loader was asked for; on the CPU
  std::shared_ptr<void> lease = {};         ///< gives the memory back
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
/// `depth` buffers that stay in place: of colours uint8, a quarter of the size of floats. The
/// loader's pinned slot goes back as soon as its copy is done. Of batches that the GPU decodes, two
/// are under way, so that one is parsed and queued while the other is decoded. The current stream
/// in next() waits for the copy; the host never does. Fixed buffers with two events each, instead
/// of record_stream(), mean that nothing is allocated after the first batch, and that a captured
/// CUDA graph can read them.
///
/// On the CPU the tensors are views of the loader's slot, and nothing is copied.
///
/// One thread makes all calls, and nobody else may call the loader's next() and start_epoch(). Must
/// not outlive the loader.
class Prefetcher {
 public:
  /// `depth`: batches on the GPU, 2 or more; not used on the CPU.
  Prefetcher(reader::Loader& loader, const Device& device, int depth = 3);
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// Like Loader::start_epoch(). All batches of the epoch before must have been given back.
  void start_epoch(std::uint64_t epoch, std::uint64_t done = 0);
  /// Returns nothing at the end of the epoch. Throws Error, what the loader threw.
  std::optional<DeviceBatch> next();
  /// Seconds spent in next() so far, waiting for a batch.
  double wait_seconds() const;
  /// Seconds that copies to the GPU took, in parallel with everything else; 0 on the CPU.
  double copy_seconds() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace packhorse::trainer
