#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
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

/// The task that a network is made for.
struct ModelSpec {
  std::int64_t classes = 0;
  int image_size = 0;  ///< pixels, both sides; only vit_s16 and script modules are bound to it
  std::string file{};  ///< of a script module
};

/// The arch's network on the CPU, initialised as torchvision does, from LibTorch's default
/// generator; a script module keeps the parameters it was saved with. `image_size` 0 = the arch's.
/// Throws Error(kUsage) for an unknown arch, fewer than one class, a size that the network cannot
/// take or a script module with another number of classes, and Error(kNotFound | kCorrupt |
/// kUnsupported) for a script module that cannot be loaded or trained.
std::shared_ptr<Model> make_model(std::string_view arch, std::int64_t classes, int image_size = 0);

/// Trainable numbers in the model.
std::int64_t count_parameters(const Model& model);

/// Lets the model's batch norms see the batches of all processes, which must outlive it.
void sync_batch_norms(Model& model, const Processes& processes);

/// Moves 4-D parameters to channels_last. Call it before an optimiser takes them.
void make_channels_last(Model& model);

}  // namespace packhorse::trainer
