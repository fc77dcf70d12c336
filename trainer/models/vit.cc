#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <torch/nn/functional/linear.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <cmath>

#include "models/archs.h"
#include "models/layers.h"
#include "packhorse/base/error.h"
#include "packhorse/trainer/models/models.h"

namespace packhorse::trainer {
namespace {

namespace nn = torch::nn;

constexpr std::int64_t kPatch = 16;  // pixels, both sides
constexpr std::int64_t kWidth = 384;
constexpr std::int64_t kHidden = 1536;  // of the two-layer network in a block
constexpr std::int64_t kHeads = 6;
constexpr int kBlocks = 12;

nn::LayerNorm layer_norm() { return nn::LayerNorm(nn::LayerNormOptions({kWidth}).eps(1e-6)); }

/// Attention of every token to all; the names are those of torch.nn.MultiheadAttention.
class SelfAttention : public nn::Module {
 public:
  SelfAttention() {
    in_weight_ = register_parameter("in_proj_weight", at::empty({3 * kWidth, kWidth}));
    in_bias_ = register_parameter("in_proj_bias", at::zeros({3 * kWidth}));
    out_ = register_module("out_proj", nn::Linear(kWidth, kWidth));
    nn::init::xavier_uniform_(in_weight_);
    nn::init::zeros_(out_->bias);
  }

  at::Tensor forward(const at::Tensor& x) {  // [B, tokens, kWidth]
    const auto batch = x.size(0), tokens = x.size(1);
    const auto qkv = nn::functional::linear(x, in_weight_, in_bias_)
                         .view({batch, tokens, 3, kHeads, kWidth / kHeads})
                         .permute({2, 0, 3, 1, 4});
    const auto y = at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2]);
    return out_(y.transpose(1, 2).reshape({batch, tokens, kWidth}));
  }

 private:
  at::Tensor in_weight_, in_bias_;
  nn::Linear out_{nullptr};
};

class EncoderBlock : public nn::Module {
 public:
  EncoderBlock() {
    ln1_ = register_module("ln_1", layer_norm());
    attention_ = register_module("self_attention", std::make_shared<SelfAttention>());
    ln2_ = register_module("ln_2", layer_norm());
    // torchvision has dropouts at 2 and 4, which do nothing at a rate of 0, so the second linear
    // layer is named 3 there.
    const nn::Linear in(kWidth, kHidden), out(kHidden, kWidth);
    mlp_->push_back("0", in);
    mlp_->push_back("1", nn::GELU());
    mlp_->push_back("3", out);
    register_module("mlp", mlp_);
    for (const nn::Linear& layer : {in, out}) {
      nn::init::xavier_uniform_(layer->weight);
      nn::init::normal_(layer->bias, 0, 1e-6);
    }
  }

  at::Tensor forward(const at::Tensor& input) {
    const auto x = input + attention_->forward(ln1_(input));
    return x + mlp_->forward(ln2_(x));
  }

 private:
  nn::LayerNorm ln1_{nullptr}, ln2_{nullptr};
  std::shared_ptr<SelfAttention> attention_;
  nn::Sequential mlp_;
};

class Encoder : public nn::Module {
 public:
  explicit Encoder(std::int64_t tokens) {
    position_ = register_parameter("pos_embedding", at::empty({1, tokens, kWidth}));
    nn::init::normal_(position_, 0, 0.02);
    for (int i = 0; i < kBlocks; ++i) {
      layers_->push_back(fmt::format("encoder_layer_{}", i), std::make_shared<EncoderBlock>());
    }
    register_module("layers", layers_);
    ln_ = register_module("ln", layer_norm());
  }

  at::Tensor forward(const at::Tensor& x) { return ln_(layers_->forward(x + position_)); }

 private:
  at::Tensor position_;
  nn::Sequential layers_;
  nn::LayerNorm ln_{nullptr};
};

/// The small model (DeiT-S) of Dosovitskiy et al. 2020, arranged and named like torchvision's
/// VisionTransformer.
class Vit : public Model {
 public:
  explicit Vit(const ModelSpec& spec) : image_size_(spec.image_size) {
    const int image_size = spec.image_size;
    if (image_size % kPatch != 0) {
      throw Error(
          ErrorKind::kUsage,
          fmt::format(
              "vit_s16 cuts images into squares of {0} pixels, and {1} is not a multiple of {0}",
              kPatch, image_size),
          {}, "use another `image_size=`, e.g. 224");
    }
    const std::int64_t side = image_size / kPatch;
    class_token_ = register_parameter("class_token", at::zeros({1, 1, kWidth}));
    projection_ = register_module(
        "conv_proj", nn::Conv2d(nn::Conv2dOptions(spec.channels, kWidth, kPatch).stride(kPatch)));
    encoder_ = register_module("encoder", std::make_shared<Encoder>(side * side + 1));
    const nn::Linear head(kWidth, spec.classes);
    heads_->push_back("head", head);
    register_module("heads", heads_);
    // torchvision truncates this distribution at 2, some 55 deviations out: no difference.
    nn::init::normal_(projection_->weight, 0, std::sqrt(1.0 / (spec.channels * kPatch * kPatch)));
    nn::init::zeros_(projection_->bias);
    nn::init::zeros_(head->weight);
    nn::init::zeros_(head->bias);
  }

  at::Tensor forward(const at::Tensor& images) override {
    if (images.size(2) != image_size_ || images.size(3) != image_size_) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("this vit_s16 takes images of {0}x{0}, not {1}x{2}", image_size_,
                              images.size(3), images.size(2)));
    }
    const auto patches =
        projection_(images).flatten(2).transpose(1, 2);  // [B, side * side, kWidth]
    const auto first = class_token_.expand({images.size(0), -1, -1});
    const auto tokens = encoder_->forward(at::cat({first, patches.contiguous()}, 1));
    return heads_->forward(tokens.select(1, 0));
  }

 private:
  std::int64_t image_size_;
  at::Tensor class_token_;
  nn::Conv2d projection_{nullptr};
  std::shared_ptr<Encoder> encoder_;
  nn::Sequential heads_;
};

std::shared_ptr<Model> make_vit(const ModelSpec& spec) { return std::make_shared<Vit>(spec); }

}  // namespace

constinit const Arch kVitS16 = {.name = "vit_s16",
                                .summary = "ViT-S/16, 22.1 M parameters",
                                .make = make_vit,
                                .image_size = 224,
                                .augment = AugmentKind::kRandomResizedCrop,
                                .epochs = 90,
                                .batch_size = 256,
                                .lr = 2.5e-4,
                                .weight_decay = 0.1,
                                .warmup_share = 10.0 / 90,
                                .optimizer = OptimizerKind::kAdamW};

}  // namespace packhorse::trainer
