#include <ATen/ops/relu6.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include <array>

#include "models/archs.h"
#include "models/layers.h"
#include "packhorse/trainer/models/models.h"

namespace packhorse::trainer {
namespace {

namespace nn = torch::nn;

/// Convolution, norm, ReLU6. A class of its own, because a Sequential cannot hold another one.
class ConvNormRelu6 : public nn::SequentialImpl {
 public:
  ConvNormRelu6(std::int64_t in, std::int64_t out, int kernel, int stride, std::int64_t groups = 1)
      : nn::SequentialImpl(conv(in, out, kernel, stride, groups), BatchNorm2d(out)) {}

  at::Tensor forward(const at::Tensor& x) {
    return at::relu6(nn::SequentialImpl::forward<at::Tensor>(x));
  }
};

std::shared_ptr<ConvNormRelu6> conv_norm_relu6(std::int64_t in, std::int64_t out, int kernel,
                                               int stride, std::int64_t groups = 1) {
  return std::make_shared<ConvNormRelu6>(in, out, kernel, stride, groups);
}

/// 1x1 to `expansion` times the channels, 3x3 on each channel alone, 1x1 back to few channels; with
/// a shortcut when input and output have the same shape.
class InvertedResidual : public nn::Module {
 public:
  InvertedResidual(std::int64_t in, std::int64_t out, int stride, int expansion)
      : shortcut_(stride == 1 && in == out) {
    const std::int64_t wide = in * expansion;
    if (expansion != 1) conv_->push_back(conv_norm_relu6(in, wide, 1, 1));
    conv_->push_back(conv_norm_relu6(wide, wide, 3, stride, wide));
    conv_->push_back(conv(wide, out, 1, 1));
    conv_->push_back(BatchNorm2d(out));
    register_module("conv", conv_);
  }

  at::Tensor forward(const at::Tensor& x) {
    return shortcut_ ? x + conv_->forward(x) : conv_->forward(x);
  }

 private:
  bool shortcut_;
  nn::Sequential conv_;
};

/// Rows of table 2 in Sandler et al. 2018.
struct Stage {
  int expansion;
  std::int64_t channels;
  int blocks;
  int stride;  ///< of the first block
};
constexpr std::array<Stage, 7> kStages = {{{1, 16, 1, 1},
                                           {6, 24, 2, 2},
                                           {6, 32, 3, 2},
                                           {6, 64, 4, 2},
                                           {6, 96, 3, 1},
                                           {6, 160, 3, 2},
                                           {6, 320, 1, 1}}};
constexpr std::int64_t kLastChannels = 1280;

/// Sandler et al. 2018 in torchvision's arrangement and names, width 1.
class MobileNetV2 : public Model {
 public:
  explicit MobileNetV2(const ModelSpec& spec) {
    std::int64_t in = 32;
    features_->push_back(conv_norm_relu6(spec.channels, in, 3, 2));
    for (const Stage& stage : kStages) {
      for (int b = 0; b < stage.blocks; ++b) {
        features_->push_back(std::make_shared<InvertedResidual>(
            in, stage.channels, b == 0 ? stage.stride : 1, stage.expansion));
        in = stage.channels;
      }
    }
    features_->push_back(conv_norm_relu6(in, kLastChannels, 1, 1));
    register_module("features", features_);
    const nn::Linear linear(kLastChannels, spec.classes);
    classifier_ = register_module("classifier", nn::Sequential(nn::Dropout(0.2), linear));
    init_convolutions(*this);
    nn::init::normal_(linear->weight, 0, 0.01);
    nn::init::zeros_(linear->bias);
  }

  at::Tensor forward(const at::Tensor& images) override {
    return classifier_->forward(features_->forward(images).mean({2, 3}));
  }

 private:
  nn::Sequential features_;
  nn::Sequential classifier_{nullptr};
};

std::shared_ptr<Model> make_mobilenet_v2(const ModelSpec& spec) {
  return std::make_shared<MobileNetV2>(spec);
}

}  // namespace

constinit const Arch kMobileNetV2 = {.name = "mobilenet_v2",
                                     .summary = "MobileNetV2, 3.5 M parameters",
                                     .make = make_mobilenet_v2,
                                     .image_size = 224,
                                     .augment = AugmentKind::kRandomResizedCrop,
                                     .epochs = 300,
                                     .batch_size = 256,
                                     .lr = 0.045,
                                     .weight_decay = 4e-5,
                                     .warmup_share = 5.0 / 300};

}  // namespace packhorse::trainer
