#pragma once

#include <torch/nn/modules/batchnorm.h>

#include "packhorse/trainer/parallel/processes.h"

namespace packhorse::trainer {

/// torch.nn.BatchNorm2d, and torch.nn.SyncBatchNorm where processes are set: in training it then
/// norms by the batches of all of them.
class BatchNorm2dImpl : public torch::nn::BatchNorm2dImpl {
 public:
  using torch::nn::BatchNorm2dImpl::BatchNorm2dImpl;

  /// nullptr: this process alone. They must outlive the module.
  void set_processes(const Processes* processes) { processes_ = processes; }

  at::Tensor forward(const at::Tensor& input);

 private:
  const Processes* processes_ = nullptr;
};
TORCH_MODULE(BatchNorm2d);

}  // namespace packhorse::trainer
