#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "packhorse/reader/loader.h"
#include "packhorse/trainer/device/device.h"

/// Decodes a share of the JPEGs on the GPU with nvJPEG, where the CPU has too few cores to feed it.
namespace packhorse::trainer {

struct GpuDecodeCounters {
  std::uint64_t by_gpu = 0, by_cpu = 0;  ///< samples that were left encoded, by who decoded them
  bool hardware = false;                 ///< the GPU's JPEG engine is in use, not its cores
};

/// Makes pixels of the samples that a loader left encoded (LoaderOptions::encoded_share). nvJPEG
/// decodes them in batches, then a kernel crops, scales and mirrors. JPEGs that nvJPEG refuses are
/// decoded by the CPU here.
///
/// The pixels are not bit for bit the CPU's: nvJPEG rounds its transform and interpolates chroma in
/// its own way, and scaling is done in float32. One thread.
class GpuDecoder {
 public:
  /// Throws Error(kUnsupported) for the CPU, and where nvJPEG is not available.
  GpuDecoder(const Device& device, std::int64_t batch_size);
  ~GpuDecoder();
  GpuDecoder(const GpuDecoder&) = delete;
  GpuDecoder& operator=(const GpuDecoder&) = delete;

  /// Copies the batch to `images` (uint8 [B, S, S, 3] on the device), decoding encoded samples. The
  /// work is queued on the current stream; the batch must live until it is done. Throws
  /// Error(kCorrupt) for a JPEG that no decoder can read.
  void upload(const reader::Batch& batch, const at::Tensor& images);

  GpuDecodeCounters counters() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct GpuDecodeShare {
  double share = 0;  ///< for LoaderOptions::encoded_share
  std::string reason;
};

/// Tries shares of 0, 1/4, ... 1 for `seconds` each on the dataset, without training, and returns
/// the one with the most images a second; the smaller one when they are within 3 %. Throws Error.
GpuDecodeShare tune_gpu_decode(const std::shared_ptr<const reader::Dataset>& dataset,
                               reader::LoaderOptions options, const Device& device,
                               double seconds = 2);

}  // namespace packhorse::trainer
