#include <ATen/ops/max_pool2d.h>
#include <fmt/format.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include <array>

#include "models/batch_norm.h"
#include "models/layers.h"
#include "models/networks.h"
#include "packhorse/trainer/models/models.h"

namespace packhorse::trainer {
namespace {

namespace nn = torch::nn;

/// Two 3x3 convolutions around a shortcut (ResNet-18 and -34).
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

/// 1x1, 3x3 (which has the stride: "v1.5", as in torchvision), 1x1 around a shortcut (ResNet-50 and
/// up).
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

/// The layers before the blocks.
enum class Stem {
  kPhoto,  ///< 7x7 with stride 2 and max-pooling: a quarter of the sides
  kSmall,  ///< 3x3: the sides stay (He et al. 2015, section 4.2, for CIFAR-10)
};

/// He et al. 2015 in torchvision's arrangement and names.
template <class Block>
class ResNet : public Model {
 public:
  ResNet(const std::array<int, 4>& blocks, Stem stem, std::int64_t classes) : stem_(stem) {
    conv1_ = register_module("conv1", stem == Stem::kPhoto ? conv(3, 64, 7, 2) : conv(3, 64, 3, 1));
    bn1_ = register_module("bn1", BatchNorm2d(64));
    std::int64_t in = 64;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const std::int64_t width = std::int64_t{64} << i;
      nn::Sequential layer;
      for (int b = 0; b < blocks[i]; ++b) {
        layer->push_back(std::make_shared<Block>(in, width, i > 0 && b == 0 ? 2 : 1));
        in = width * Block::kExpansion;
      }
      layers_[i] = register_module(fmt::format("layer{}", i + 1), layer);
    }
    fc_ = register_module("fc", nn::Linear(in, classes));
    init_convolutions(*this);
  }

  at::Tensor forward(const at::Tensor& images) override {
    auto x = bn1_(conv1_(images)).relu_();
    if (stem_ == Stem::kPhoto) x = at::max_pool2d(x, 3, 2, 1);
    for (auto& layer : layers_) x = layer->forward(x);
    return fc_(x.mean({2, 3}));
  }

 private:
  Stem stem_;
  nn::Conv2d conv1_{nullptr};
  BatchNorm2d bn1_{nullptr};
  std::array<nn::Sequential, 4> layers_{nn::Sequential{nullptr}, nn::Sequential{nullptr},
                                        nn::Sequential{nullptr}, nn::Sequential{nullptr}};
  nn::Linear fc_{nullptr};
};

template <class Block, int A, int B, int C, int D, Stem kStem = Stem::kPhoto>
std::shared_ptr<Model> make_resnet(const ModelSpec& spec) {
  return std::make_shared<ResNet<Block>>(std::array{A, B, C, D}, kStem, spec.classes);
}

constexpr Arch for_photos(std::string_view name, std::string_view summary,
                          std::shared_ptr<Model> (*maker)(const ModelSpec&)) {
  return {.name = name,
          .summary = summary,
          .make = maker,
          .image_size = 224,
          .augment = AugmentKind::kRandomResizedCrop,
          .epochs = 90,
          .batch_size = 256,
          .lr = 0.1,
          .weight_decay = 1e-4,
          .warmup_share = 5.0 / 90};
}

}  // namespace

constinit const Arch kResNet18 =
    for_photos("resnet18", "ResNet-18, 11.7 M parameters", make_resnet<BasicBlock, 2, 2, 2, 2>);
constinit const Arch kResNet34 =
    for_photos("resnet34", "ResNet-34, 21.8 M parameters", make_resnet<BasicBlock, 3, 4, 6, 3>);
constinit const Arch kResNet50 = for_photos("resnet50", "ResNet-50 (v1.5), 25.6 M parameters",
                                            make_resnet<Bottleneck, 3, 4, 6, 3>);
constinit const Arch kResNet101 = for_photos("resnet101", "ResNet-101 (v1.5), 44.5 M parameters",
                                             make_resnet<Bottleneck, 3, 4, 23, 3>);

constinit const Arch kResNet18Cifar = {
    .name = "resnet18-cifar",
    .summary = "ResNet-18 without the first downsampling of the image, 11.2 M parameters",
    .make = make_resnet<BasicBlock, 2, 2, 2, 2, Stem::kSmall>,
    .image_size = 32,
    .augment = AugmentKind::kPadCrop,
    .epochs = 30,
    .batch_size = 128,
    .lr = 0.1,
    .weight_decay = 5e-4,
    .warmup_share = 0.1};

}  // namespace packhorse::trainer
