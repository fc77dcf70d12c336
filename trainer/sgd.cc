#include "packhorse/trainer/sgd.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>

namespace packhorse::trainer {

FusedSgd::FusedSgd(const NamedTensors& parameters, SgdOptions options) : options_(options) {
  Group weights{.weight_decay = options.weight_decay};
  Group rest{.weight_decay = 0};
  for (const auto& [name, parameter] : parameters) {
    Group& group = parameter.dim() > 1 ? weights : rest;
    group.names.push_back(name);
    group.parameters.push_back(parameter);
    group.momentum.push_back(at::zeros_like(parameter.detach()));
  }
  for (Group* group : {&weights, &rest}) {
    if (!group->names.empty()) groups_.push_back(std::move(*group));
  }
  const auto device =
      parameters.empty() ? at::Device(at::kCPU) : parameters.front().second.device();
  lr_ = at::full({1}, 0.0, at::TensorOptions(device).dtype(at::kFloat));
}

void FusedSgd::step(double lr) {
  const at::NoGradGuard no_grad;
  lr_.fill_(lr);
  std::vector<at::Tensor> gradients;
  for (Group& group : groups_) {
    gradients.clear();
    for (const auto& parameter : group.parameters) gradients.push_back(parameter.grad());
    // The buffers start at zero, so the first step needs no case of its own.
    at::_fused_sgd_(group.parameters, gradients, group.momentum, group.weight_decay,
                    options_.momentum, lr_, /*dampening=*/0, options_.nesterov,
                    /*maximize=*/false, /*is_first_step=*/false);
  }
}

void FusedSgd::zero_grad() {
  for (Group& group : groups_) {
    for (auto& parameter : group.parameters) parameter.mutable_grad().reset();
  }
}

NamedTensors FusedSgd::momentum() const {
  NamedTensors all;
  for (const Group& group : groups_) {
    for (std::size_t i = 0; i < group.names.size(); ++i) {
      all.emplace_back(group.names[i], group.momentum[i]);
    }
  }
  return all;
}

}  // namespace packhorse::trainer
