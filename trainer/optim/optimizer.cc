#include "packhorse/trainer/optim/optimizer.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "optim/adamw.h"
#include "optim/sgd.h"

namespace packhorse::trainer {

namespace {

/// The names of a vision transformer's learned tokens and positions in torchvision and timm.
constexpr std::array<std::string_view, 4> kTokens = {"class_token", "pos_embedding", "cls_token",
                                                     "pos_embed"};

/// Whether a parameter is a layer's weight, not a bias, norm, token or position.
bool is_weight(const std::string& name, const at::Tensor& parameter) {
  const std::string_view last = std::string_view(name).substr(name.rfind('.') + 1);
  return parameter.dim() > 1 && std::find(kTokens.begin(), kTokens.end(), last) == kTokens.end();
}

}  // namespace

std::vector<at::Tensor> Optimizer::Group::gradients() const {
  std::vector<at::Tensor> all;
  all.reserve(parameters.size());
  for (const auto& parameter : parameters) all.push_back(parameter.grad());
  return all;
}

Optimizer::Optimizer(const NamedTensors& parameters, const OptimizerOptions& options,
                     const std::vector<std::string>& slots)
    : options_(options) {
  Group weights{.weights = true, .weight_decay = options.weight_decay};
  Group rest;
  for (const auto& [name, parameter] : parameters) {
    Group& group = is_weight(name, parameter) ? weights : rest;
    group.names.push_back(name);
    group.parameters.push_back(parameter);
    for (const auto& slot : slots) {
      group.slots[slot].push_back(at::zeros_like(parameter.detach()));
    }
  }
  for (Group* group : {&weights, &rest}) {
    if (!group->names.empty()) groups_.push_back(std::move(*group));
  }
  const auto device =
      parameters.empty() ? at::Device(at::kCPU) : parameters.front().second.device();
  lr_ = at::full({1}, 0.0, at::TensorOptions(device).dtype(at::kFloat));
}

void Optimizer::set_lr(double lr) { lr_.fill_(lr); }

void Optimizer::zero_grad() {
  for (Group& group : groups_) {
    for (auto& parameter : group.parameters) parameter.mutable_grad().reset();
  }
}

std::vector<at::Tensor> Optimizer::gradients() const {
  std::vector<at::Tensor> all;
  for (const Group& group : groups_) {
    for (const auto& gradient : group.gradients()) all.push_back(gradient);
  }
  return all;
}

OptimizerState Optimizer::state_of(const std::vector<std::string>& slots) const {
  OptimizerState state;
  for (const auto& slot : slots) {
    NamedTensors& tensors = state[slot];
    for (const Group& group : groups_) {
      const auto& kept = group.slots.at(slot);
      for (std::size_t i = 0; i < kept.size(); ++i) tensors.emplace_back(group.names[i], kept[i]);
    }
  }
  return state;
}

std::unique_ptr<Optimizer> make_optimizer(const NamedTensors& parameters,
                                          const OptimizerOptions& options) {
  if (options.kind == OptimizerKind::kAdamW) return std::make_unique<AdamW>(parameters, options);
  return std::make_unique<Sgd>(parameters, options);
}

at::Tensor clip_grad_norm(const std::vector<at::Tensor>& gradients, double max_norm) {
  const at::NoGradGuard no_grad;
  at::Tensor norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients, 2)));
  at::_foreach_mul_(gradients, (max_norm / (norm + 1e-6)).clamp_max(1));
  return norm;
}

}  // namespace packhorse::trainer
