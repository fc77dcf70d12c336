#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include <cstdint>

#include "packhorse/trainer/parallel/processes.h"

/// The building blocks of the convolutional networks.
namespace packhorse::trainer {

/// A convolution without bias, padded so that stride 1 keeps the picture's sides; a norm follows
/// each one. `groups` = `in` convolves each channel by itself.
torch::nn::Conv2d conv(std::int64_t in, std::int64_t out, int kernel, int stride,
                       std::int64_t groups = 1);

/// Applies He's initialisation by fan-out to all convolutions below `module`, as torchvision does.
/// LibTorch's defaults are right for norms (1, 0) and linear layers.
void init_convolutions(torch::nn::Module& module);

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
