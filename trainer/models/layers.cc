#include "models/layers.h"

#include <torch/nn/init.h>

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

}  // namespace packhorse::trainer
