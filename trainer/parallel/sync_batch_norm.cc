#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <torch/csrc/autograd/custom_function.h>

#include "parallel/data_parallel.h"

namespace packhorse::trainer {
namespace {

/// Reshapes [C] to [1, C, 1, ...].
at::Tensor spread(const at::Tensor& channels, std::int64_t dims) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(dims), 1);
  shape[1] = channels.size(0);
  return channels.view(shape);
}

std::vector<std::int64_t> all_but_channels(std::int64_t dims) {
  std::vector<std::int64_t> over;
  for (std::int64_t d = 0; d < dims; ++d) {
    if (d != 1) over.push_back(d);
  }
  return over;
}

struct SyncBatchNorm : torch::autograd::Function<SyncBatchNorm> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight, const at::Tensor& bias,
                            at::Tensor running_mean, at::Tensor running_var, double momentum,
                            double eps, const Processes* processes) {
    const at::Tensor x = input.to(at::kFloat);
    const auto over = all_but_channels(x.dim());
    const std::int64_t channels = x.size(1);
    const std::int64_t values = x.numel() / channels * processes->size();
    const auto count = static_cast<double>(values);
    // There are two passes because computing the variance from a sum of squares would cancel.
    auto mean = x.sum(over) / count;
    processes->sum(mean);
    const auto centred = x - spread(mean, x.dim());
    auto variance = centred.square().sum(over) / count;
    processes->sum(variance);
    running_mean.lerp_(mean, momentum);
    running_var.lerp_(variance * (count / std::max(1.0, count - 1)), momentum);
    const auto inverse = (variance + eps).rsqrt();
    const auto normal = centred * spread(inverse, x.dim());
    context->save_for_backward({normal, weight, inverse});
    context->saved_data["count"] = count;
    context->saved_data["processes"] = reinterpret_cast<std::int64_t>(processes);
    return (normal * spread(weight, x.dim()) + spread(bias, x.dim())).to(input.scalar_type());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list outputs) {
    const auto saved = context->get_saved_variables();
    const auto &normal = saved[0], &weight = saved[1], &inverse = saved[2];
    const double count = context->saved_data["count"].toDouble();
    const auto* processes =
        reinterpret_cast<const Processes*>(context->saved_data["processes"].toInt());
    const auto dy = outputs[0].to(at::kFloat);
    const auto over = all_but_channels(dy.dim());
    const auto dims = dy.dim();
    // These are this process's own: the reducer averages the gradients of weight and bias.
    const auto d_weight = (dy * normal).sum(over);
    const auto d_bias = dy.sum(over);
    auto both = at::cat({d_weight, d_bias}) / count;
    processes->sum(both);
    const auto parts = both.chunk(2);
    const auto dx = (dy - spread(parts[1], dims) - normal * spread(parts[0], dims)) *
                    spread(weight * inverse, dims);
    return {dx.to(outputs[0].scalar_type()), d_weight, d_bias, {}, {}, {}, {}, {}};
  }
};

}  // namespace

at::Tensor sync_batch_norm(const at::Tensor& input, const at::Tensor& weight,
                           const at::Tensor& bias, const at::Tensor& running_mean,
                           const at::Tensor& running_var, double momentum, double eps,
                           const Processes& processes) {
  return SyncBatchNorm::apply(input, weight, bias, running_mean, running_var, momentum, eps,
                              &processes);
}

}  // namespace packhorse::trainer
