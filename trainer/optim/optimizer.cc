#include "optim/optimizer.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace packhorse::trainer {

namespace {

/// torch.optim.AdamW (Loshchilov, Hutter 2019) in one fused call (at::_fused_adamw_).
class AdamW final : public Optimizer {
 public:
  AdamW(const NamedTensors& parameters, const OptimizerOptions& options);
  void step(const at::Tensor& found_inf) override;
  OptimizerState state() const override;
};

constexpr const char* kMean = "exp_avg";
constexpr const char* kSquare = "exp_avg_sq";
constexpr const char* kSteps = "step";

AdamW::AdamW(const NamedTensors& parameters, const OptimizerOptions& options)
    : Optimizer(parameters, options, {kMean, kSquare}) {
  for (Group& group : groups_) {
    auto& steps = group.slots[kSteps];
    for (const auto& parameter : group.parameters) {
      steps.push_back(at::zeros({}, parameter.options().dtype(at::kFloat).requires_grad(false)));
    }
  }
}

void AdamW::step(const at::Tensor& found_inf) {
  const at::NoGradGuard no_grad;
  const auto found = found_inf.defined() ? std::optional(found_inf) : std::nullopt;
  for (Group& group : groups_) {
    auto& steps = group.slots.at(kSteps);
    at::_foreach_add_(steps, 1);
    at::_fused_adamw_(group.parameters, group.gradients(), group.slots.at(kMean),
                      group.slots.at(kSquare), /*max_exp_avg_sqs=*/{}, steps, lr_, options_.beta1,
                      options_.beta2, group.weight_decay, options_.eps, /*amsgrad=*/false,
                      /*maximize=*/false, /*grad_scale=*/std::nullopt, found);
    // A skipped step is not counted.
    if (found) {
      at::_foreach_sub_(steps, std::vector<at::Tensor>(steps.size(), found->squeeze()));
    }
  }
}

OptimizerState AdamW::state() const { return state_of({kMean, kSquare, kSteps}); }

/// All parameters in one fused call (at::_fused_sgd_):
///
///     g += weight_decay * p;  m = momentum * m + g;  p -= lr * (nesterov ? g + momentum * m : m)
///
/// LARS first multiplies g + weight_decay * p of each weight (of what decays) by
/// trust * |p| / (|g| + weight_decay * |p|).
class Sgd final : public Optimizer {
 public:
  Sgd(const NamedTensors& parameters, const OptimizerOptions& options);
  void step(const at::Tensor& found_inf) override;
  OptimizerState state() const override;
};

constexpr const char* kMomentum = "momentum";

std::vector<std::string> slots_of(const OptimizerOptions& options) {
  if (options.momentum == 0) return {};
  return {kMomentum};
}

void scale_by_trust(const std::vector<at::Tensor>& parameters,
                    const std::vector<at::Tensor>& gradients, double weight_decay, double trust) {
  const auto weight = at::stack(at::_foreach_norm(parameters, 2));
  const auto slope = at::stack(at::_foreach_norm(gradients, 2));
  const auto ratio = trust * weight / (slope + weight_decay * weight);
  // A layer that is all zero, or whose gradient is, takes the plain step.
  const auto usable = weight.gt(0).logical_and(slope.gt(0));
  at::_foreach_add_(gradients, parameters, weight_decay);
  at::_foreach_mul_(gradients, at::where(usable, ratio, at::ones_like(ratio)).unbind());
}

Sgd::Sgd(const NamedTensors& parameters, const OptimizerOptions& options)
    : Optimizer(parameters, options, slots_of(options)) {}

void Sgd::step(const at::Tensor& found_inf) {
  const at::NoGradGuard no_grad;
  const auto found = found_inf.defined() ? std::optional(found_inf) : std::nullopt;
  for (Group& group : groups_) {
    const auto gradients = group.gradients();
    double weight_decay = group.weight_decay;
    if (options_.kind == OptimizerKind::kLars && group.weights) {
      scale_by_trust(group.parameters, gradients, weight_decay, options_.trust);
      weight_decay = 0;
    }
    // The buffers start at zero, so the first step needs no case of its own.
    at::_fused_sgd_(group.parameters, gradients, group.slots[kMomentum], weight_decay,
                    options_.momentum, lr_, /*dampening=*/0, options_.nesterov,
                    /*maximize=*/false, /*is_first_step=*/false, /*grad_scale=*/std::nullopt,
                    found);
  }
}

OptimizerState Sgd::state() const { return state_of(slots_of(options_)); }

/// The names of a vision transformer's learned tokens and positions in torchvision and timm.
constexpr std::array<std::string_view, 4> kTokens = {"class_token", "pos_embedding", "cls_token",
                                                     "pos_embed"};

/// Whether a parameter is a layer's weight, not a bias, norm, token or position.
bool is_weight(const std::string& name, const at::Tensor& parameter) {
  const std::string_view last = std::string_view(name).substr(name.rfind('.') + 1);
  return parameter.dim() > 1 && std::ranges::find(kTokens, last) == kTokens.end();
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

OptimizerOptions optimizer_options(const Recipe& recipe) {
  return {.kind = recipe.optimizer,
          .momentum = recipe.momentum,
          .nesterov = recipe.nesterov,
          .beta1 = recipe.beta1,
          .beta2 = recipe.beta2,
          .weight_decay = recipe.weight_decay};
}

}  // namespace packhorse::trainer
