#include "models/resnet_layers.h"

#include <ATen/ops/max_pool2d.h>
#include <fmt/format.h>

#include "models/layers.h"

namespace packhorse::trainer {
namespace {

namespace nn = torch::nn;

class BasicBlock : public nn::Module {
 public:
  static constexpr std::int64_t kExpansion = 1;

  BasicBlock(std::int64_t in, std::int64_t width, int stride) {
    conv1_ = register_module("conv1", conv(in, width, 3, stride));
    bn1_ = register_module("bn1", BatchNorm2d(width));
    conv2_ = register_module("conv2", conv(width, width, 3, 1));
    bn2_ = register_module("bn2", BatchNorm2d(width));
    if (stride != 1 || in != width) {
      downsample_ = register_module("downsample",
                                    nn::Sequential(conv(in, width, 1, stride), BatchNorm2d(width)));
    }
  }

  at::Tensor forward(const at::Tensor& x) {
    auto y = bn2_(conv2_(bn1_(conv1_(x)).relu_()));
    return (y += downsample_ ? downsample_->forward(x) : x).relu_();
  }

 private:
  nn::Conv2d conv1_{nullptr}, conv2_{nullptr};
  BatchNorm2d bn1_{nullptr}, bn2_{nullptr};
  nn::Sequential downsample_{nullptr};
};

class Bottleneck : public nn::Module {
 public:
  static constexpr std::int64_t kExpansion = 4;

  Bottleneck(std::int64_t in, std::int64_t width, int stride) {
    const std::int64_t out = width * kExpansion;
    conv1_ = register_module("conv1", conv(in, width, 1, 1));
    bn1_ = register_module("bn1", BatchNorm2d(width));
    conv2_ = register_module("conv2", conv(width, width, 3, stride));
    bn2_ = register_module("bn2", BatchNorm2d(width));
    conv3_ = register_module("conv3", conv(width, out, 1, 1));
    bn3_ = register_module("bn3", BatchNorm2d(out));
    if (stride != 1 || in != out) {
      downsample_ =
          register_module("downsample", nn::Sequential(conv(in, out, 1, stride), BatchNorm2d(out)));
    }
  }

  at::Tensor forward(const at::Tensor& x) {
    auto y = bn3_(conv3_(bn2_(conv2_(bn1_(conv1_(x)).relu_())).relu_()));
    return (y += downsample_ ? downsample_->forward(x) : x).relu_();
  }

 private:
  nn::Conv2d conv1_{nullptr}, conv2_{nullptr}, conv3_{nullptr};
  BatchNorm2d bn1_{nullptr}, bn2_{nullptr}, bn3_{nullptr};
  nn::Sequential downsample_{nullptr};
};

}  // namespace

ResNetLayers::ResNetLayers(nn::Module& owner, ResNetBlock block, const std::array<int, 4>& blocks,
                           Stem stem, int in)
    : stem_(stem) {
  const nn::Conv2d first = stem == Stem::kPhoto ? conv(in, 64, 7, 2) : conv(in, 64, 3, 1);
  conv1_ = owner.register_module("conv1", first);
  bn1_ = owner.register_module("bn1", BatchNorm2d(64));
  if (block == ResNetBlock::kBasic) {
    make_groups<BasicBlock>(owner, blocks);
  } else {
    make_groups<Bottleneck>(owner, blocks);
  }
}

template <class Block>
void ResNetLayers::make_groups(nn::Module& owner, const std::array<int, 4>& blocks) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::int64_t width = std::int64_t{64} << i;
    nn::Sequential group;
    for (int b = 0; b < blocks[i]; ++b) {
      group->push_back(std::make_shared<Block>(channels_, width, i > 0 && b == 0 ? 2 : 1));
      channels_ = width * Block::kExpansion;
    }
    groups_[i] = owner.register_module(fmt::format("layer{}", i + 1), group);
  }
}

std::array<at::Tensor, 4> ResNetLayers::forward(const at::Tensor& images) {
  at::Tensor x = bn1_(conv1_(images)).relu_();
  if (stem_ == Stem::kPhoto) x = at::max_pool2d(x, 3, 2, 1);
  std::array<at::Tensor, 4> made;
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = x = groups_[i]->forward(x);
  return made;
}

}  // namespace packhorse::trainer
