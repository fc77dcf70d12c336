#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>

#include <array>

#include "models/layers.h"

namespace packhorse::trainer {

/// The layers before the blocks.
enum class Stem {
  kPhoto,  ///< 7x7 with stride 2 and max-pooling: a quarter of the sides
  kSmall,  ///< 3x3: the sides stay (He et al. 2015, section 4.2, for CIFAR-10)
};

enum class ResNetBlock {
  kBasic,       ///< two 3x3 convolutions around a shortcut (ResNet-18 and -34)
  kBottleneck,  ///< 1x1, 3x3 (which has the stride: "v1.5", as in torchvision), 1x1 (ResNet-50 and
                ///< up)
};

/// He et al. 2015 up to the last block, in torchvision's arrangement and names.
class ResNetLayers {
 public:
  /// Registers its parts in `owner`. `in`: channels of the images.
  ResNetLayers(torch::nn::Module& owner, ResNetBlock block, const std::array<int, 4>& blocks,
               Stem stem, int in);

  /// What each of the four groups of blocks makes of images, the finest first.
  std::array<at::Tensor, 4> forward(const at::Tensor& images);
  /// Of the last group.
  std::int64_t channels() const { return channels_; }

 private:
  template <class Block>
  void make_groups(torch::nn::Module& owner, const std::array<int, 4>& blocks);

  Stem stem_;
  std::int64_t channels_ = 64;
  torch::nn::Conv2d conv1_{nullptr};
  BatchNorm2d bn1_{nullptr};
  std::array<torch::nn::Sequential, 4> groups_{
      torch::nn::Sequential{nullptr}, torch::nn::Sequential{nullptr},
      torch::nn::Sequential{nullptr}, torch::nn::Sequential{nullptr}};
};

}  // namespace packhorse::trainer
