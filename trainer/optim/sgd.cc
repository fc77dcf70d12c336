#include "optim/sgd.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

namespace packhorse::trainer {
namespace {

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

}  // namespace

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

}  // namespace packhorse::trainer
