#include <torch/nn/modules/container/functional.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include "models/archs.h"
#include "models/layers.h"
#include "packhorse/trainer/models/models.h"

namespace packhorse::trainer {
namespace {

namespace nn = torch::nn;

/// Six 3x3 convolutions of widths 32, 32, 64, 64, 128, 128, each with norm and ReLU; the picture's
/// sides are halved where the width grows.
class SmallNet : public Model {
 public:
  explicit SmallNet(const ModelSpec& spec) {
    std::int64_t in = spec.channels;
    for (const std::int64_t width : {32, 64, 128}) {
      for (int i = 0; i < 2; ++i) {
        features_->push_back(conv(in, width, 3, i == 0 && width > 32 ? 2 : 1));
        features_->push_back(BatchNorm2d(width));
        features_->push_back(nn::Functional([](const at::Tensor& x) { return x.relu(); }));
        in = width;
      }
    }
    register_module("features", features_);
    fc_ = register_module("fc", nn::Linear(in, spec.classes));
    init_convolutions(*this);
  }

  at::Tensor forward(const at::Tensor& images) override {
    return fc_(features_->forward(images).mean({2, 3}));
  }

 private:
  nn::Sequential features_;
  nn::Linear fc_{nullptr};
};

std::shared_ptr<Model> make_smallnet(const ModelSpec& spec) {
  return std::make_shared<SmallNet>(spec);
}

}  // namespace

constinit const Arch kSmallNet = {.name = "smallnet",
                                  .summary = "six 3x3 convolutions, 0.3 M parameters",
                                  .make = make_smallnet,
                                  .image_size = 32,
                                  .augment = AugmentKind::kFlip,
                                  .epochs = 6,
                                  .batch_size = 128,
                                  .lr = 0.1,
                                  .weight_decay = 5e-4,
                                  .warmup_share = 0.2};

}  // namespace packhorse::trainer
