#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

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
  explicit GpuDecoder(const Device& device);
  ~GpuDecoder();
  GpuDecoder(const GpuDecoder&) = delete;
  GpuDecoder& operator=(const GpuDecoder&) = delete;

  /// Copies the batch to `images` (uint8 [B, S, S, 3] on the device), decoding encoded samples. The
  /// work is queued on the current stream; the batch must live until it is done. So must be what
  /// the call before queued, when this is called again: its memory is used again. Throws
  /// Error(kCorrupt) for a JPEG that no decoder can read. After an error, part of the work may be
  /// queued.
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

/// Tries shares of 0, 1/4, ... 1 on the dataset, without training, for `seconds` each, of which
/// three rounds take a third, after one round that does not count. Returns choose_share(). Throws
/// Error.
GpuDecodeShare tune_gpu_decode(const std::shared_ptr<const reader::Dataset>& dataset,
                               reader::LoaderOptions options, const Device& device,
                               double seconds = 2);

/// Images a second with one share, round by round.
struct ShareRates {
  double share;
  std::vector<double> rates;
};
/// The smallest share whose median rate is within 3 % of the highest median.
GpuDecodeShare choose_share(const std::vector<ShareRates>& tried);

}  // namespace packhorse::trainer
