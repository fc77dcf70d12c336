#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace packhorse::trainer {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

struct SgdOptions {
  double momentum = 0.9;
  bool nesterov = true;
  double weight_decay = 1e-4;  ///< only on parameters of two and more dimensions
};

/// SGD with torch.optim.SGD's formula, all parameters in one fused call (at::_fused_sgd_):
///
///     g += weight_decay * p;  m = momentum * m + g;  p -= lr * (nesterov ? g + momentum * m : m)
///
/// The learning rate lies in a tensor on the device, so that a step neither waits for the device
/// nor bakes the rate into a captured graph. One thread at a time.
class FusedSgd {
 public:
  FusedSgd(const NamedTensors& parameters, SgdOptions options);

  /// One step from the parameters' gradients, which must all be there.
  void step(double lr);
  /// Drops the gradients.
  void zero_grad();
  /// A momentum buffer for each parameter, under its name; changing them changes the optimiser.
  NamedTensors momentum() const;

 private:
  struct Group {
    double weight_decay = 0;
    std::vector<std::string> names{};
    std::vector<at::Tensor> parameters{};
    std::vector<at::Tensor> momentum{};
  };
  SgdOptions options_;
  std::vector<Group> groups_;
  at::Tensor lr_;
};

}  // namespace packhorse::trainer
