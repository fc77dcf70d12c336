#pragma once

#include <ATen/core/Tensor.h>

#include "packhorse/trainer/parallel/processes.h"

namespace packhorse::trainer {

/// The function of torch.nn.SyncBatchNorm in training: batch_norm over the batches of all
/// processes, with one reduction forwards and one backwards. `input` is [B, C, ...], of equal size
/// in all processes; statistics are computed in float32. Updates the running statistics in place,
/// with the unbiased variance of the whole batch, as batch_norm does.
at::Tensor sync_batch_norm(const at::Tensor& input, const at::Tensor& weight,
                           const at::Tensor& bias, const at::Tensor& running_mean,
                           const at::Tensor& running_var, double momentum, double eps,
                           const Processes& processes);

}  // namespace packhorse::trainer
