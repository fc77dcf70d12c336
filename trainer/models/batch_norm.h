#pragma once

#include <torch/nn/modules/batchnorm.h>

#include "packhorse/trainer/parallel/processes.h"

namespace packhorse::trainer {

/// torch.nn.BatchNorm2d, or torch.nn.SyncBatchNorm when processes are set: in training it then
/// normalises over the batches of all of them.
class BatchNorm2dImpl : public torch::nn::BatchNorm2dImpl {
 public:
  using torch::nn::BatchNorm2dImpl::BatchNorm2dImpl;

  /// Sets the processes, which must outlive the module. nullptr: this process alone.
  void set_processes(const Processes* processes) { processes_ = processes; }

  at::Tensor forward(const at::Tensor& input);

 private:
  const Processes* processes_ = nullptr;
};
TORCH_MODULE(BatchNorm2d);

}  // namespace packhorse::trainer
