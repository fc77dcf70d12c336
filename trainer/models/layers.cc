#include "models/layers.h"

#include <torch/nn/init.h>

#include "parallel/data_parallel.h"

namespace packhorse::trainer {

namespace nn = torch::nn;

nn::Conv2d conv(std::int64_t in, std::int64_t out, int kernel, int stride, std::int64_t groups) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel)
                        .stride(stride)
                        .padding(kernel / 2)
                        .groups(groups)
                        .bias(false));
}

void init_convolutions(nn::Module& module) {
  for (const auto& child : module.modules(/*include_self=*/false)) {
    if (auto* layer = child->as<nn::Conv2d>()) {
      nn::init::kaiming_normal_(layer->weight, 0, torch::kFanOut, torch::kReLU);
    }
  }
}

at::Tensor BatchNorm2dImpl::forward(const at::Tensor& input) {
  if (!is_training() || processes_ == nullptr || processes_->size() == 1) {
    return torch::nn::BatchNorm2dImpl::forward(input);
  }
  num_batches_tracked += 1;
  return sync_batch_norm(input, weight, bias, running_mean, running_var,
                         options.momentum().value_or(0.1), options.eps(), *processes_);
}

}  // namespace packhorse::trainer
