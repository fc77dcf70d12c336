#include "optim/ema.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_lerp.h>

#include <algorithm>

namespace packhorse::trainer {

Ema::Ema(NamedTensors state, double decay) : decay_(decay), state_(std::move(state)) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : state_) {
    const auto now = tensor.detach();
    average_.emplace_back(name, now.clone());
    const bool averaged = now.is_floating_point();
    (averaged ? from_ : copied_from_).push_back(now);
    (averaged ? to_ : copied_to_).push_back(average_.back().second);
  }
}

void Ema::update(std::int64_t step) {
  const at::NoGradGuard no_grad;
  const auto n = static_cast<double>(step);
  const double decay = std::min(decay_, (1 + n) / (10 + n));
  at::_foreach_lerp_(to_, from_, 1 - decay);
  for (std::size_t i = 0; i < copied_to_.size(); ++i) copied_to_[i].copy_(copied_from_[i]);
}

// Swaps the values, since an optimiser, a captured graph or a bucket of gradients may hold the
// tensors' memory.
void Ema::swap() {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < state_.size(); ++i) {
    const auto model = state_[i].second.detach();
    const auto kept = model.clone();
    model.copy_(average_[i].second);
    average_[i].second.copy_(kept);
  }
}

}  // namespace packhorse::trainer
