#include <torch/nn/modules/linear.h>

#include <array>

#include "models/archs.h"
#include "models/layers.h"
#include "models/resnet_layers.h"
#include "packhorse/trainer/models/models.h"

namespace packhorse::trainer {
namespace {

namespace nn = torch::nn;

class ResNet : public Model {
 public:
  ResNet(ResNetBlock block, const std::array<int, 4>& blocks, Stem stem, const ModelSpec& spec)
      : layers_(*this, block, blocks, stem, spec.channels) {
    fc_ = register_module("fc", nn::Linear(layers_.channels(), spec.classes));
    init_convolutions(*this);
  }

  at::Tensor forward(const at::Tensor& images) override {
    return fc_(layers_.forward(images).back().mean({2, 3}));
  }

 private:
  ResNetLayers layers_;
  nn::Linear fc_{nullptr};
};

template <ResNetBlock kBlock, int A, int B, int C, int D, Stem kStem = Stem::kPhoto>
std::shared_ptr<Model> make_resnet(const ModelSpec& spec) {
  return std::make_shared<ResNet>(kBlock, std::array{A, B, C, D}, kStem, spec);
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

constinit const Arch kResNet18 = for_photos("resnet18", "ResNet-18, 11.7 M parameters",
                                            make_resnet<ResNetBlock::kBasic, 2, 2, 2, 2>);
constinit const Arch kResNet34 = for_photos("resnet34", "ResNet-34, 21.8 M parameters",
                                            make_resnet<ResNetBlock::kBasic, 3, 4, 6, 3>);
constinit const Arch kResNet50 = for_photos("resnet50", "ResNet-50 (v1.5), 25.6 M parameters",
                                            make_resnet<ResNetBlock::kBottleneck, 3, 4, 6, 3>);
constinit const Arch kResNet101 = for_photos("resnet101", "ResNet-101 (v1.5), 44.5 M parameters",
                                             make_resnet<ResNetBlock::kBottleneck, 3, 4, 23, 3>);

constinit const Arch kResNet18Cifar = {
    .name = "resnet18-cifar",
    .summary = "ResNet-18 without the first downsampling of the image, 11.2 M parameters",
    .make = make_resnet<ResNetBlock::kBasic, 2, 2, 2, 2, Stem::kSmall>,
    .image_size = 32,
    .augment = AugmentKind::kPadCrop,
    .epochs = 30,
    .batch_size = 128,
    .lr = 0.1,
    .weight_decay = 5e-4,
    .warmup_share = 0.1};

}  // namespace packhorse::trainer
