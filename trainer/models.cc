#include "packhorse/trainer/models.h"

#include <ATen/ops/flatten.h>
#include <ATen/ops/max_pool2d.h>
#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/container/functional.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <array>
#include <utility>

#include "models/batch_norm.h"
#include "packhorse/error.h"
#include "packhorse/trainer/archs.h"

namespace packhorse::trainer {
namespace {

namespace nn = torch::nn;

nn::Conv2d conv(std::int64_t in, std::int64_t out, int kernel, int stride) {
  return nn::Conv2d(
      nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

// torchvision's ResNet: He's initialisation by fan-out; LibTorch's own defaults do for norms (1, 0)
// and linear layers.
void init_convolutions(nn::Module& model) {
  for (const auto& module : model.modules(/*include_self=*/false)) {
    if (auto* layer = module->as<nn::Conv2d>()) {
      nn::init::kaiming_normal_(layer->weight, 0, torch::kFanOut, torch::kReLU);
    }
  }
}

/// Six 3x3 convolutions of widths 32, 32, 64, 64, 128, 128, each with norm and ReLU; the picture's
/// sides are halved where the width grows.
class SmallNet : public Model {
 public:
  explicit SmallNet(std::int64_t classes) {
    std::int64_t in = 3;
    for (const std::int64_t width : {32, 64, 128}) {
      for (int i = 0; i < 2; ++i) {
        features_->push_back(conv(in, width, 3, i == 0 && width > 32 ? 2 : 1));
        features_->push_back(BatchNorm2d(width));
        features_->push_back(nn::Functional([](const at::Tensor& x) { return x.relu(); }));
        in = width;
      }
    }
    register_module("features", features_);
    fc_ = register_module("fc", nn::Linear(in, classes));
    init_convolutions(*this);
  }

  at::Tensor forward(const at::Tensor& images) override {
    return fc_(features_->forward(images).mean({2, 3}));
  }

 private:
  nn::Sequential features_;
  nn::Linear fc_{nullptr};
};

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

/// He et al. 2015 in torchvision's arrangement and names.
template <class Block>
class ResNet : public Model {
 public:
  ResNet(const std::array<int, 4>& blocks, std::int64_t classes) {
    conv1_ = register_module("conv1", conv(3, 64, 7, 2));
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
    auto x = at::max_pool2d(bn1_(conv1_(images)).relu_(), 3, 2, 1);
    for (auto& layer : layers_) x = layer->forward(x);
    return fc_(x.mean({2, 3}));
  }

 private:
  nn::Conv2d conv1_{nullptr};
  BatchNorm2d bn1_{nullptr};
  std::array<nn::Sequential, 4> layers_{nn::Sequential{nullptr}, nn::Sequential{nullptr},
                                        nn::Sequential{nullptr}, nn::Sequential{nullptr}};
  nn::Linear fc_{nullptr};
};

std::shared_ptr<Model> make_smallnet(std::int64_t classes) {
  return std::make_shared<SmallNet>(classes);
}
std::shared_ptr<Model> make_resnet18(std::int64_t classes) {
  return std::make_shared<ResNet<BasicBlock>>(std::array{2, 2, 2, 2}, classes);
}
std::shared_ptr<Model> make_resnet50(std::int64_t classes) {
  return std::make_shared<ResNet<Bottleneck>>(std::array{3, 4, 6, 3}, classes);
}

constexpr std::array<Arch, 3> kArchs = {{
    {.name = "smallnet",
     .summary = "six 3x3 convolutions, 0.3 M parameters, for pictures of 32x32",
     .make = make_smallnet,
     .image_size = 32,
     .augment = AugmentKind::kFlip,
     .epochs = 6,
     .batch_size = 128,
     .lr = 0.1,
     .weight_decay = 5e-4,
     .warmup_share = 0.2},
    {.name = "resnet18",
     .summary = "ResNet-18, 11.7 M parameters, for pictures of 224x224",
     .make = make_resnet18,
     .image_size = 224,
     .augment = AugmentKind::kRandomResizedCrop,
     .epochs = 90,
     .batch_size = 256,
     .lr = 0.1,
     .weight_decay = 1e-4,
     .warmup_share = 5.0 / 90},
    {.name = "resnet50",
     .summary = "ResNet-50 (v1.5), 25.6 M parameters, for pictures of 224x224",
     .make = make_resnet50,
     .image_size = 224,
     .augment = AugmentKind::kRandomResizedCrop,
     .epochs = 90,
     .batch_size = 256,
     .lr = 0.1,
     .weight_decay = 1e-4,
     .warmup_share = 5.0 / 90},
}};

}  // namespace

std::span<const Arch> all_archs() { return kArchs; }

std::shared_ptr<Model> make_model(std::string_view arch, std::int64_t classes) {
  const Arch& found = find_arch(arch);
  if (classes < 1) throw Error(ErrorKind::kUsage, "a model needs at least one class");
  return found.make(classes);
}

std::int64_t count_parameters(const Model& model) {
  std::int64_t count = 0;
  for (const auto& parameter : model.parameters()) count += parameter.numel();
  return count;
}

void sync_batch_norms(Model& model, const Processes& processes) {
  for (const auto& module : model.modules(/*include_self=*/false)) {
    if (auto* norm = module->as<BatchNorm2d>()) norm->set_processes(&processes);
  }
}

void make_channels_last(Model& model) {
  for (auto& parameter : model.parameters()) {
    if (parameter.dim() == 4) {
      parameter.set_data(parameter.data().contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
}

}  // namespace packhorse::trainer
