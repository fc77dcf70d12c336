#include "optim/adamw.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros.h>

namespace packhorse::trainer {
namespace {

constexpr const char* kMean = "exp_avg";
constexpr const char* kSquare = "exp_avg_sq";
constexpr const char* kSteps = "step";

}  // namespace

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

}  // namespace packhorse::trainer
