#pragma once

#include "packhorse/trainer/optim/optimizer.h"

namespace packhorse::trainer {

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

}  // namespace packhorse::trainer
