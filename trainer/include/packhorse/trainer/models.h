#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace packhorse::trainer {

class Processes;

/// A network from pictures to class scores. Parameters and buffers carry torchvision's names where
/// torchvision has the network. One thread at a time.
class Model : public torch::nn::Module {
 public:
  /// float [B, 3, H, W] (channels_last is fastest) -> [B, classes]
  virtual at::Tensor forward(const at::Tensor& images) = 0;
};

/// The arch's network, initialised as torchvision does, from LibTorch's default generator.
/// Throws Error(kUsage) for an unknown arch, or fewer than one class.
std::shared_ptr<Model> make_model(std::string_view arch, std::int64_t classes);

/// Trainable numbers in the model.
std::int64_t count_parameters(const Model& model);

/// Lets the model's batch norms see the batches of all processes, which must outlive it.
void sync_batch_norms(Model& model, const Processes& processes);

/// Moves 4-D parameters to channels_last. To be done before an optimiser takes them.
void make_channels_last(Model& model);

}  // namespace packhorse::trainer
