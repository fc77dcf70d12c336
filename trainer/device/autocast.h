#pragma once

#include <ATen/autocast_mode.h>

namespace packhorse::trainer {

/// torch.autocast for a scope and the current thread: convolutions and matrix products inside run
/// in `type`. Put the forward pass and the loss inside, backward() and the optimiser outside.
class Autocast {
 public:
  Autocast(at::DeviceType device, at::ScalarType type, bool enabled)
      : device_(device),
        was_enabled_(at::autocast::is_autocast_enabled(device)),
        was_type_(at::autocast::get_autocast_dtype(device)) {
    at::autocast::set_autocast_dtype(device_, type);
    at::autocast::set_autocast_enabled(device_, enabled);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    // Cached 16-bit copies of the weights would outlive the optimiser's next step.
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, was_enabled_);
    at::autocast::set_autocast_dtype(device_, was_type_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  at::DeviceType device_;
  bool was_enabled_;
  at::ScalarType was_type_;
};

}  // namespace packhorse::trainer
