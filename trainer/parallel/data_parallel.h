#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "device/named_tensors.h"
#include "packhorse/trainer/parallel/processes.h"

namespace packhorse::trainer {

/// Does for a LibTorch program what PyTorch's DistributedDataParallel does around a step: gradients
/// are averaged over all processes while backward() still runs, in buckets that the gradients are
/// views of (c10d's Reducer).
///
///     DataParallel parallel(processes, parameters, buffers);   // all take rank 0's values
///     for (...) {
///       parallel.before_forward();
///       auto loss = ...;
///       parallel.before_backward(last_part);    // false: gradients only add up here ("no_sync")
///       loss.backward();                        // returns when gradients are reduced
///     }
///
/// Every process must use all parameters in each reduced backward(). Drop gradients with
/// `mutable_grad().reset()` (Optimizer::zero_grad does), never detach them. Does nothing in a
/// process alone. One thread at a time.
class DataParallel {
 public:
  DataParallel(const Processes& processes, const NamedTensors& parameters,
               const NamedTensors& buffers);
  ~DataParallel();
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  void before_forward();
  void before_backward(bool reduce);
  /// Gives all processes rank 0's buffers. Training does not read running statistics, so call this
  /// before an evaluation and a checkpoint, not at every step.
  void share_buffers() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The function of torch.nn.SyncBatchNorm in training: batch_norm over the batches of all
/// processes, with one reduction forwards and one backwards. `input` is [B, C, ...], of equal size
/// in all processes; statistics are computed in float32. Updates the running statistics in place,
/// with the unbiased variance of the whole batch, as batch_norm does.
at::Tensor sync_batch_norm(const at::Tensor& input, const at::Tensor& weight,
                           const at::Tensor& bias, const at::Tensor& running_mean,
                           const at::Tensor& running_var, double momentum, double eps,
                           const Processes& processes);

}  // namespace packhorse::trainer
