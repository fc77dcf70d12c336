#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/normalization.h>

#include <array>
#include <cmath>
#include <vector>

#include "models/anchor_points.h"
#include "models/archs.h"
#include "models/layers.h"
#include "models/resnet_layers.h"
#include "packhorse/trainer/models/models.h"

namespace packhorse::trainer {
namespace {

namespace nn = torch::nn;

constexpr std::int64_t kLevelWidth = 256;    // channels of every level
using FcosLevels = std::vector<at::Tensor>;  // the finest first

nn::Conv2d biased(std::int64_t in, std::int64_t out, int kernel, int stride = 1) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2));
}

class Body final : public nn::Module {
 public:
  explicit Body(int in) : layers_(*this, ResNetBlock::kBottleneck, {3, 4, 6, 3}, Stem::kPhoto, in) {
    init_convolutions(*this);
  }
  std::array<at::Tensor, 4> forward(const at::Tensor& images) { return layers_.forward(images); }

 private:
  ResNetLayers layers_;
};

/// Two coarser levels, made of the coarsest.
class CoarserLevels final : public nn::Module {
 public:
  CoarserLevels() {
    p6_ = register_module("p6", biased(kLevelWidth, kLevelWidth, 3, 2));
    p7_ = register_module("p7", biased(kLevelWidth, kLevelWidth, 3, 2));
  }
  void add_to(FcosLevels& levels) {
    levels.push_back(p6_(levels.back()));
    levels.push_back(p7_(levels.back().relu()));
  }

 private:
  nn::Conv2d p6_{nullptr}, p7_{nullptr};
};

/// Lin et al. 2017: each level with what the coarser ones know.
class FeaturePyramid final : public nn::Module {
 public:
  FeaturePyramid() {
    for (const std::int64_t in : {512, 1024, 2048}) {
      inner_->push_back(nn::Sequential(biased(in, kLevelWidth, 1)));
      layer_->push_back(nn::Sequential(biased(kLevelWidth, kLevelWidth, 3)));
    }
    register_module("inner_blocks", inner_);
    register_module("layer_blocks", layer_);
    coarser_ = register_module("extra_blocks", std::make_shared<CoarserLevels>());
    for (const auto& named : named_parameters()) {
      if (named.value().dim() == 1) {
        nn::init::zeros_(named.value());
      } else {
        nn::init::kaiming_uniform_(named.value(), /*a=*/1);
      }
    }
  }

  FcosLevels forward(const std::array<at::Tensor, 4>& body) {
    FcosLevels levels(3);
    at::Tensor coarser;
    for (std::size_t i = 3; i-- > 0;) {
      at::Tensor x = apply(inner_, i, body.at(i + 1));
      if (coarser.defined()) x = x + at::upsample_nearest2d(coarser, {x.size(2), x.size(3)});
      levels[i] = apply(layer_, i, x);
      coarser = x;
    }
    coarser_->add_to(levels);
    return levels;
  }

 private:
  static at::Tensor apply(const nn::ModuleList& list, std::size_t i, const at::Tensor& x) {
    return list->ptr(i)->as<nn::SequentialImpl>()->forward(x);
  }
  nn::ModuleList inner_, layer_;
  std::shared_ptr<CoarserLevels> coarser_;
};

class Backbone final : public nn::Module {
 public:
  explicit Backbone(int in) {
    body_ = register_module("body", std::make_shared<Body>(in));
    pyramid_ = register_module("fpn", std::make_shared<FeaturePyramid>());
  }
  FcosLevels forward(const at::Tensor& images) { return pyramid_->forward(body_->forward(images)); }

 private:
  std::shared_ptr<Body> body_;
  std::shared_ptr<FeaturePyramid> pyramid_;
};

/// Four convolutions with group norms, and the last ones: the same weights for all levels.
class Branch : public nn::Module {
 public:
  Branch() {
    for (int i = 0; i < 4; ++i) {
      conv_->push_back(biased(kLevelWidth, kLevelWidth, 3));
      conv_->push_back(nn::GroupNorm(nn::GroupNormOptions(32, kLevelWidth)));
      conv_->push_back(nn::ReLU());
    }
    register_module("conv", conv_);
  }

 protected:
  at::Tensor features(const at::Tensor& x) { return conv_->forward(x); }
  /// Registers a last convolution.
  nn::Conv2d last(const char* name, std::int64_t out) {
    return register_module(name, biased(kLevelWidth, out, 3));
  }
  void init() {
    for (const auto& module : modules(/*include_self=*/false)) {
      auto* const convolution = module->as<nn::Conv2dImpl>();
      if (convolution == nullptr) continue;
      nn::init::normal_(convolution->weight, 0, 0.01);
      nn::init::zeros_(convolution->bias);
    }
  }

 private:
  nn::Sequential conv_;
};

class ClassBranch final : public Branch {
 public:
  explicit ClassBranch(std::int64_t classes) {
    classes_ = last("cls_logits", classes);
    init();
    constexpr double kPrior = 0.01;  // so that at first every place says that there is nothing
    nn::init::constant_(classes_->bias, -std::log((1 - kPrior) / kPrior));
  }
  at::Tensor forward(const at::Tensor& x) { return classes_(features(x)); }

 private:
  nn::Conv2d classes_{nullptr};
};

/// The distances of a box's edges, and how near the place is to its middle.
class BoxBranch final : public Branch {
 public:
  BoxBranch() {
    boxes_ = last("bbox_reg", 4);
    centre_ = last("bbox_ctrness", 1);
    init();
  }
  at::Tensor forward(const at::Tensor& input) {
    const at::Tensor x = features(input);
    return at::cat({boxes_(x).relu(), centre_(x)}, 1);
  }

 private:
  nn::Conv2d boxes_{nullptr}, centre_{nullptr};
};

class FcosHead final : public nn::Module {
 public:
  explicit FcosHead(std::int64_t classes) {
    classes_ = register_module("classification_head", std::make_shared<ClassBranch>(classes));
    boxes_ = register_module("regression_head", std::make_shared<BoxBranch>());
  }
  /// [B, A, 5 + classes].
  at::Tensor forward(const FcosLevels& levels) {
    std::vector<at::Tensor> all;
    for (const at::Tensor& level : levels)
      all.push_back(at::cat({boxes_->forward(level), classes_->forward(level)}, 1)
                        .flatten(2)
                        .transpose(1, 2));
    return at::cat(all, 1);
  }

 private:
  std::shared_ptr<ClassBranch> classes_;
  std::shared_ptr<BoxBranch> boxes_;
};

/// Boxes given by the distances of their edges from the places, as centre and sides in pixels.
at::Tensor with_boxes(const at::Tensor& raw, const FcosPoints& points) {
  const auto distance = [&](std::int64_t edge) { return raw.select(2, edge) * points.size; };
  const at::Tensor left = points.x - distance(0), top = points.y - distance(1);
  const at::Tensor right = points.x + distance(2), bottom = points.y + distance(3);
  const at::Tensor boxes =
      at::stack({(left + right) / 2, (top + bottom) / 2, right - left, bottom - top}, 2);
  return at::cat({boxes, raw.narrow(2, 4, raw.size(2) - 4)}, 2);
}

/// Tian et al. 2019, as torchvision's fcos_resnet50_fpn arranges and names it.
class Fcos final : public Model {
 public:
  explicit Fcos(const ModelSpec& spec) {
    backbone_ = register_module("backbone", std::make_shared<Backbone>(spec.channels));
    head_ = register_module("head", std::make_shared<FcosHead>(spec.classes));
  }
  at::Tensor forward(const at::Tensor& images) override {
    const at::Tensor raw = head_->forward(backbone_->forward(images)).to(at::kFloat);
    return with_boxes(raw, fcos_points(images.size(2), images.size(3), images.device()));
  }
  std::string head() const override { return "head.classification_head.cls_logits."; }

 private:
  std::shared_ptr<Backbone> backbone_;
  std::shared_ptr<FcosHead> head_;
};

std::shared_ptr<Model> make_fcos(const ModelSpec& spec) { return std::make_shared<Fcos>(spec); }

}  // namespace

constinit const Arch kFcosResNet50 = {
    .name = "fcos-resnet50",
    .summary = "FCOS with ResNet-50 and a feature pyramid, 32 M parameters",
    .make = make_fcos,
    .image_size = 640,
    .augment = AugmentKind::kFlip,
    .epochs = 26,
    .batch_size = 16,
    .lr = 0.01,
    .weight_decay = 1e-4,
    .warmup_share = 0.5 / 26,
    .task = TaskKind::kDetect,
    .detector = DetectorKind::kFcos};

}  // namespace packhorse::trainer
