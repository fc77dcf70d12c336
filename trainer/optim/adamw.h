#pragma once

#include "packhorse/trainer/optim/optimizer.h"

namespace packhorse::trainer {

/// torch.optim.AdamW (Loshchilov, Hutter 2019) in one fused call (at::_fused_adamw_).
class AdamW final : public Optimizer {
 public:
  AdamW(const NamedTensors& parameters, const OptimizerOptions& options);
  void step(const at::Tensor& found_inf) override;
  OptimizerState state() const override;
};

}  // namespace packhorse::trainer
