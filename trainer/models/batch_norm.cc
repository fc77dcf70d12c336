#include "models/batch_norm.h"

#include "packhorse/trainer/parallel/sync_batch_norm.h"

namespace packhorse::trainer {

at::Tensor BatchNorm2dImpl::forward(const at::Tensor& input) {
  if (!is_training() || processes_ == nullptr || processes_->size() == 1) {
    return torch::nn::BatchNorm2dImpl::forward(input);
  }
  num_batches_tracked += 1;
  return sync_batch_norm(input, weight, bias, running_mean, running_var,
                         options.momentum().value_or(0.1), options.eps(), *processes_);
}

}  // namespace packhorse::trainer
