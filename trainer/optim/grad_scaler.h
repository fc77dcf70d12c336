#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace packhorse::trainer {

struct GradScalerOptions {
  double init_scale = 65536;
  double growth = 2;     ///< factor after `growth_interval` steps without overflow
  double backoff = 0.5;  ///< factor after a step with one
  std::int64_t growth_interval = 2000;
};

/// Keeps float16 gradients away from zero and notices when they overflow, by torch.amp.GradScaler's
/// rule. With growth and backoff of 1 and init_scale 1 it only notices non-finite gradients, of any
/// type.
///
///     scaler.scale(loss).backward();
///     scaler.unscale(optimizer.gradients());     // sets found_inf()
///     optimizer.step(scaler.found_inf());        // does nothing where it is set
///     scaler.update();                           // the next step's scale; counts the skipped ones
///
/// All state is on the device and nothing waits for it, so it can be part of a captured CUDA graph.
/// With data parallelism every process sees the reduced gradients, so all skip together. One thread
/// at a time.
class GradScaler {
 public:
  explicit GradScaler(at::Device device, const GradScalerOptions& options = {});

  at::Tensor scale(const at::Tensor& loss) const { return loss * scale_; }
  /// Divides the gradients by the scale, in place.
  void unscale(const std::vector<at::Tensor>& gradients);
  /// float [1], 1 where a gradient is not finite.
  const at::Tensor& found_inf() const { return found_inf_; }
  void update();

  /// These wait for the device.
  double current_scale() const;
  std::int64_t skipped() const;  ///< steps since construction, or of the state loaded

  /// [scale, steps since the last change, skipped steps], float64 on the CPU; waits.
  at::Tensor state() const;
  void load(const at::Tensor& state);

 private:
  GradScalerOptions options_;
  at::Tensor scale_, growth_tracker_, found_inf_, skipped_;
};

}  // namespace packhorse::trainer
