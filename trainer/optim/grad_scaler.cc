#include "optim/grad_scaler.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

namespace packhorse::trainer {

GradScaler::GradScaler(at::Device device, const GradScalerOptions& options)
    : options_(options),
      scale_(at::full({1}, options.init_scale, at::TensorOptions(device).dtype(at::kFloat))),
      growth_tracker_(at::zeros({1}, at::TensorOptions(device).dtype(at::kInt))),
      found_inf_(at::zeros({1}, scale_.options())),
      skipped_(at::zeros({1}, at::TensorOptions(device).dtype(at::kDouble))) {}

void GradScaler::unscale(const std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_grad;
  found_inf_.zero_();  // the next call can only set it
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, found_inf_, scale_.reciprocal());
}

void GradScaler::update() {
  const at::NoGradGuard no_grad;
  skipped_.add_(found_inf_);
  at::_amp_update_scale_(scale_, growth_tracker_, found_inf_, options_.growth, options_.backoff,
                         options_.growth_interval);
}

double GradScaler::current_scale() const { return scale_.item<float>(); }

std::int64_t GradScaler::skipped() const {
  return static_cast<std::int64_t>(skipped_.item<double>());
}

at::Tensor GradScaler::state() const {
  auto state = at::empty({3}, at::TensorOptions().dtype(at::kDouble));
  state[0].copy_(scale_[0]);
  state[1].copy_(growth_tracker_[0]);
  state[2].copy_(skipped_[0]);
  return state;
}

void GradScaler::load(const at::Tensor& state) {
  const at::NoGradGuard no_grad;
  scale_.copy_(state.slice(0, 0, 1));
  growth_tracker_.copy_(state.slice(0, 1, 2));
  skipped_.copy_(state.slice(0, 2, 3));
}

}  // namespace packhorse::trainer
