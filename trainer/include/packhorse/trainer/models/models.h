#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace packhorse::trainer {

class Processes;

/// A network. Parameters and buffers carry torchvision's names where torchvision has the network,
/// and else its authors'. One thread at a time.
class Model : public torch::nn::Module {
 public:
  /// float [B, channels, H, W] (channels_last is fastest). To classify: -> [B, classes], the
  /// classes' scores.
  ///
  /// To find objects, with sides that are multiples of 32: -> float [B, A, 5 + classes]. For each
  /// of the A = H W (1/8^2 + 1/16^2 + 1/32^2) places, the finest level first and row after row: a
  /// box's centre x, y, width and height in pixels, then as logits whether there is an object, and
  /// its classes.
  virtual at::Tensor forward(const at::Tensor& images) = 0;
  /// What the names of the parameters begin with that belong to the classes: "fc.". By default,
  /// those of the module whose parameters were registered last.
  virtual std::string head() const;
  /// The name of the layer that sees the pixels, a convolution without bias and a norm, if its
  /// published weights take other pixels than packhorse (PixelKind); else empty.
  virtual std::string stem() const { return ""; }
  /// Whether it is a TorchScript module.
  virtual bool is_script() const { return false; }
};

/// Mean and std of each channel, of pixel values scaled to 0..1.
struct Normalization {
  std::vector<double> mean = {0.485, 0.456, 0.406};  ///< ImageNet's, torchvision's default
  std::vector<double> stddev = {0.229, 0.224, 0.225};
};

/// The task that a network is made for.
struct ModelSpec {
  std::int64_t classes = 0;
  int image_size = 0;  ///< pixels, both sides; only vit_s16 and script modules are bound to it
  int channels = 3;    ///< of the pictures
  std::string file{};  ///< of a script module
};

/// The arch's network on the CPU, initialised as torchvision does, from LibTorch's default
/// generator; a script module keeps the parameters it was saved with. `image_size` 0 = the arch's.
/// Throws Error(kUsage) for an unknown arch, fewer than one class, a size that the network cannot
/// take or a script module with another number of classes, and Error(kNotFound | kCorrupt |
/// kUnsupported) for a script module that cannot be loaded or trained.
std::shared_ptr<Model> make_model(std::string_view arch, std::int64_t classes, int image_size = 0,
                                  int channels = 3);

/// Trainable numbers in the model.
std::int64_t count_parameters(const Model& model);

/// Lets the model's batch norms see the batches of all processes, which must outlive it.
void sync_batch_norms(Model& model, const Processes& processes);

/// Moves 4-D parameters to channels_last. Call it before an optimiser takes them.
void make_channels_last(Model& model);

}  // namespace packhorse::trainer
