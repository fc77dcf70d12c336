#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/named_tensors.h"
#include "packhorse/trainer/recipe/recipe.h"

/// Optimisers whose whole step is a few calls, for any number of parameters, and that never wait
/// for the device. Each can be used alone in a LibTorch program:
///
///     auto optimizer = make_optimizer(named_parameters, {.kind = OptimizerKind::kAdamW});
///     optimizer->zero_grad();
///     loss.backward();
///     optimizer->set_lr(schedule.at(step));
///     optimizer->step();
namespace packhorse::trainer {

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kSgd;
  double momentum = 0.9;                          ///< SGD, LARS
  bool nesterov = true;                           ///< SGD, LARS
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  ///< AdamW
  double trust = 0.001;  ///< LARS: a step's length as a share of the weights'
  /// Applies only to weights of layers: parameters with two or more dimensions, except a vision
  /// transformer's class token and positions (timm's no_weight_decay), known by torchvision's and
  /// timm's names.
  double weight_decay = 1e-4;
};

OptimizerOptions optimizer_options(const Recipe& recipe);

/// A tensor for each parameter, by the name of what is stored ("momentum", "exp_avg", ...).
using OptimizerState = std::map<std::string, NamedTensors>;

/// The learning rate is a tensor on the device, so that a step does not wait for the device and a
/// captured CUDA graph can change the rate. One thread at a time.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  void set_lr(double lr);
  /// Makes one step from the parameters' gradients, which must all exist. Changes nothing when
  /// `found_inf` (float [1] on the device; may be undefined) is not 0; see GradScaler.
  virtual void step(const at::Tensor& found_inf = {}) = 0;
  /// Drops the gradients; the next backward() allocates them.
  void zero_grad();
  /// The gradients of all parameters, in the order of the groups.
  std::vector<at::Tensor> gradients() const;
  /// Changing the returned tensors changes the optimiser.
  virtual OptimizerState state() const = 0;

 protected:
  /// Parameters with one weight decay, and the state of each.
  struct Group {
    bool weights = false;  ///< weights of layers: they decay, and LARS scales them
    double weight_decay = 0;
    std::vector<std::string> names = {};
    std::vector<at::Tensor> parameters = {};
    std::map<std::string, std::vector<at::Tensor>> slots = {};
    std::vector<at::Tensor> gradients() const;
  };
  Optimizer(const NamedTensors& parameters, const OptimizerOptions& options,
            const std::vector<std::string>& slots);
  OptimizerState state_of(const std::vector<std::string>& slots) const;

  OptimizerOptions options_;
  std::vector<Group> groups_;
  at::Tensor lr_;
};

std::unique_ptr<Optimizer> make_optimizer(const NamedTensors& parameters,
                                          const OptimizerOptions& options);

/// Scales the gradients so that their common 2-norm is at most `max_norm`, as
/// torch.nn.utils.clip_grad_norm_ does. Returns the norm before scaling, a 0-dim tensor on the
/// device: reading it waits, the call does not.
at::Tensor clip_grad_norm(const std::vector<at::Tensor>& gradients, double max_norm);

}  // namespace packhorse::trainer
