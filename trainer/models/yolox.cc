#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <torch/nn/modules/container/modulelist.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "models/anchor_points.h"
#include "models/archs.h"
#include "models/layers.h"
#include "packhorse/trainer/models/models.h"

namespace packhorse::trainer {
namespace {

namespace nn = torch::nn;

class Layer : public nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& x) = 0;
};
using LayerPtr = std::shared_ptr<Layer>;

/// Layers one after the other, named by their numbers.
class Chain final : public Layer {
 public:
  explicit Chain(std::vector<LayerPtr> layers) : layers_(std::move(layers)) {
    for (std::size_t i = 0; i < layers_.size(); ++i) register_module(std::to_string(i), layers_[i]);
  }
  at::Tensor forward(const at::Tensor& input) override {
    at::Tensor x = input;
    for (const LayerPtr& layer : layers_) x = layer->forward(x);
    return x;
  }

 private:
  std::vector<LayerPtr> layers_;
};

/// Convolution, norm, SiLU.
class ConvNormSilu final : public Layer {
 public:
  ConvNormSilu(std::int64_t in, std::int64_t out, int kernel, int stride, std::int64_t groups = 1)
      : conv_(conv(in, out, kernel, stride, groups)),
        norm_(nn::BatchNorm2dOptions(out).eps(1e-3).momentum(0.03)) {
    register_module("conv", conv_);
    register_module("bn", norm_);
  }
  at::Tensor forward(const at::Tensor& x) override {
    return at::silu(norm_->forward(conv_->forward(x)));
  }

 private:
  nn::Conv2d conv_;
  BatchNorm2d norm_;
};

LayerPtr pointwise(std::int64_t in, std::int64_t out) {
  return std::make_shared<ConvNormSilu>(in, out, 1, 1);
}

/// A convolution on each channel alone, then one over the channels.
class Separable final : public Layer {
 public:
  Separable(std::int64_t in, std::int64_t out, int kernel, int stride)
      : each_(std::make_shared<ConvNormSilu>(in, in, kernel, stride, in)),
        across_(pointwise(in, out)) {
    register_module("dconv", each_);
    register_module("pconv", across_);
  }
  at::Tensor forward(const at::Tensor& x) override { return across_->forward(each_->forward(x)); }

 private:
  LayerPtr each_, across_;
};

/// The variants' sizes: shares of the blocks and channels of the large network.
struct Scale {
  double depth, width;
  bool separable;

  std::int64_t channels(int of_large) const { return static_cast<std::int64_t>(of_large * width); }
  int blocks(int of_large) const {
    return std::max(1, static_cast<int>(std::nearbyint(of_large * depth)));
  }
  /// 3x3.
  LayerPtr conv3(std::int64_t in, std::int64_t out, int stride) const {
    if (separable) return std::make_shared<Separable>(in, out, 3, stride);
    return std::make_shared<ConvNormSilu>(in, out, 3, stride);
  }
};

/// 1x1, then 3x3, with a shortcut where asked for.
class CspBlock final : public Layer {
 public:
  CspBlock(std::int64_t channels, bool shortcut, const Scale& scale)
      : first_(pointwise(channels, channels)),
        second_(scale.conv3(channels, channels, 1)),
        shortcut_(shortcut) {
    register_module("conv1", first_);
    register_module("conv2", second_);
  }
  at::Tensor forward(const at::Tensor& x) override {
    const at::Tensor y = second_->forward(first_->forward(x));
    return shortcut_ ? y + x : y;
  }

 private:
  LayerPtr first_, second_;
  bool shortcut_;
};

/// Half of the channels goes through blocks, the other half past them (Wang et al. 2020).
class CrossStage final : public Layer {
 public:
  CrossStage(std::int64_t in, std::int64_t out, int blocks, bool shortcut, const Scale& scale)
      : through_(pointwise(in, out / 2)),
        past_(pointwise(in, out / 2)),
        join_(pointwise(out / 2 * 2, out)) {
    std::vector<LayerPtr> chain;
    for (int i = 0; i < blocks; ++i)
      chain.push_back(std::make_shared<CspBlock>(out / 2, shortcut, scale));
    blocks_ = std::make_shared<Chain>(std::move(chain));
    register_module("conv1", through_);
    register_module("conv2", past_);
    register_module("conv3", join_);
    register_module("m", blocks_);
  }
  at::Tensor forward(const at::Tensor& x) override {
    return join_->forward(at::cat({blocks_->forward(through_->forward(x)), past_->forward(x)}, 1));
  }

 private:
  LayerPtr through_, past_, join_, blocks_;
};

/// Each 2 x 2 pixels become one with four times the channels.
class Focus final : public Layer {
 public:
  Focus(std::int64_t in, std::int64_t out)
      : conv_(std::make_shared<ConvNormSilu>(4 * in, out, 3, 1)) {
    register_module("conv", conv_);
  }
  at::Tensor forward(const at::Tensor& x) override {
    const auto every = [&](std::int64_t row, std::int64_t column) {
      return x.slice(2, row, {}, 2).slice(3, column, {}, 2);
    };
    return conv_->forward(at::cat({every(0, 0), every(1, 0), every(0, 1), every(1, 1)}, 1));
  }

 private:
  LayerPtr conv_;
};

/// Highest values around each place, in three sizes, beside the values themselves.
class SpatialPyramid final : public Layer {
 public:
  explicit SpatialPyramid(std::int64_t channels)
      : narrow_(pointwise(channels, channels / 2)), join_(pointwise(channels * 2, channels)) {
    register_module("conv1", narrow_);
    register_module("conv2", join_);
  }
  at::Tensor forward(const at::Tensor& input) override {
    const at::Tensor x = narrow_->forward(input);
    std::vector<at::Tensor> all = {x};
    for (const std::int64_t side : {5, 9, 13})
      all.push_back(at::max_pool2d(x, {side, side}, {1, 1}, {side / 2, side / 2}));
    return join_->forward(at::cat(all, 1));
  }

 private:
  LayerPtr narrow_, join_;
};

using Levels = std::array<at::Tensor, 3>;  // the finest first

class Darknet final : public nn::Module {
 public:
  Darknet(const Scale& scale, int image_channels) {
    const std::int64_t base = scale.channels(64);
    const int few = scale.blocks(3);
    const auto stage = [&](int number, std::int64_t in, int blocks, bool last) {
      std::vector<LayerPtr> layers = {scale.conv3(in, in * 2, 2)};
      if (last) layers.push_back(std::make_shared<SpatialPyramid>(in * 2));
      layers.push_back(std::make_shared<CrossStage>(in * 2, in * 2, blocks, !last, scale));
      return register_module("dark" + std::to_string(number),
                             std::make_shared<Chain>(std::move(layers)));
    };
    stem_ = register_module("stem", std::make_shared<Focus>(image_channels, base));
    dark2_ = stage(2, base, few, false);
    dark3_ = stage(3, base * 2, few * 3, false);
    dark4_ = stage(4, base * 4, few * 3, false);
    dark5_ = stage(5, base * 8, few, true);
  }
  Levels forward(const at::Tensor& images) {
    const at::Tensor fine = dark3_->forward(dark2_->forward(stem_->forward(images)));
    const at::Tensor middle = dark4_->forward(fine);
    return {fine, middle, dark5_->forward(middle)};
  }

 private:
  std::shared_ptr<Layer> stem_, dark2_, dark3_, dark4_, dark5_;
};

/// Joins the levels downwards and upwards again (Liu et al. 2018).
class PathAggregation final : public nn::Module {
 public:
  PathAggregation(const Scale& scale, int image_channels) {
    const std::int64_t fine = scale.channels(256), middle = scale.channels(512),
                       coarse = scale.channels(1024);
    const auto join = [&](const char* name, std::int64_t in, std::int64_t out) {
      return register_module(name,
                             std::make_shared<CrossStage>(in, out, scale.blocks(3), false, scale));
    };
    const auto add = [&](const char* name, LayerPtr layer) {
      return register_module(name, std::move(layer));
    };
    backbone_ = register_module("backbone", std::make_shared<Darknet>(scale, image_channels));
    lateral_ = add("lateral_conv0", pointwise(coarse, middle));
    down_middle_ = join("C3_p4", middle * 2, middle);
    reduce_ = add("reduce_conv1", pointwise(middle, fine));
    down_fine_ = join("C3_p3", fine * 2, fine);
    from_fine_ = add("bu_conv2", scale.conv3(fine, fine, 2));
    up_middle_ = join("C3_n3", fine * 2, middle);
    from_middle_ = add("bu_conv1", scale.conv3(middle, middle, 2));
    up_coarse_ = join("C3_n4", middle * 2, coarse);
  }
  Levels forward(const at::Tensor& images) {
    const auto [fine, middle, coarse] = backbone_->forward(images);
    const at::Tensor top = lateral_->forward(coarse);
    const at::Tensor centre =
        reduce_->forward(down_middle_->forward(at::cat({enlarged(top, middle), middle}, 1)));
    const at::Tensor out_fine = down_fine_->forward(at::cat({enlarged(centre, fine), fine}, 1));
    const at::Tensor out_middle =
        up_middle_->forward(at::cat({from_fine_->forward(out_fine), centre}, 1));
    const at::Tensor out_coarse =
        up_coarse_->forward(at::cat({from_middle_->forward(out_middle), top}, 1));
    return {out_fine, out_middle, out_coarse};
  }

 private:
  static at::Tensor enlarged(const at::Tensor& x, const at::Tensor& like) {
    return at::upsample_nearest2d(x, {like.size(2), like.size(3)});
  }
  std::shared_ptr<Darknet> backbone_;
  LayerPtr lateral_, down_middle_, reduce_, down_fine_, from_fine_, up_middle_, from_middle_,
      up_coarse_;
};

/// Boxes and whether there is an object on one branch, its class on another, without anchor boxes.
class DecoupledHead final : public nn::Module {
 public:
  DecoupledHead(const Scale& scale, std::int64_t classes) {
    const std::int64_t width = scale.channels(256);
    const auto level = [&](nn::ModuleList& list, const char* name, const auto& make) {
      for (int i = 0; i < 3; ++i) list->push_back(make(i));
      register_module(name, list);
    };
    const auto two = [&](int) {
      return std::make_shared<Chain>(
          std::vector<LayerPtr>{scale.conv3(width, width, 1), scale.conv3(width, width, 1)});
    };
    const auto linear = [&](std::int64_t out) {
      return [=](int) { return nn::Conv2d(nn::Conv2dOptions(width, out, 1)); };
    };
    level(class_layers_, "cls_convs", two);
    level(box_layers_, "reg_convs", two);
    level(classes_, "cls_preds", linear(classes));
    level(boxes_, "reg_preds", linear(4));
    level(objects_, "obj_preds", linear(1));
    level(stems_, "stems", [&](int i) {
      return std::make_shared<ConvNormSilu>(scale.channels(256 << i), width, 1, 1);
    });
    // So that at first every place says that there is nothing.
    constexpr double kPrior = 0.01;
    const at::NoGradGuard no_grad;
    for (const nn::ModuleList& list : {classes_, objects_})
      for (const std::shared_ptr<nn::Module>& layer : *list)
        layer->as<nn::Conv2dImpl>()->bias.fill_(-std::log((1 - kPrior) / kPrior));
  }

  at::Tensor forward(const Levels& levels) {
    std::vector<at::Tensor> all;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const at::Tensor x = apply<ConvNormSilu>(stems_, i, levels.at(i));
      const at::Tensor for_class = apply<Chain>(class_layers_, i, x);
      const at::Tensor for_box = apply<Chain>(box_layers_, i, x);
      all.push_back(at::cat({apply<nn::Conv2dImpl>(boxes_, i, for_box),
                             apply<nn::Conv2dImpl>(objects_, i, for_box),
                             apply<nn::Conv2dImpl>(classes_, i, for_class)},
                            1)
                        .flatten(2)
                        .transpose(1, 2));
    }
    return at::cat(all, 1);
  }

 private:
  template <class T>
  static at::Tensor apply(const nn::ModuleList& list, std::size_t i, const at::Tensor& x) {
    return list->ptr(i)->as<T>()->forward(x);
  }
  nn::ModuleList stems_, class_layers_, box_layers_, classes_, boxes_, objects_;
};

/// Ge et al. 2021.
class Yolox final : public Model {
 public:
  Yolox(const Scale& scale, const ModelSpec& spec) {
    backbone_ =
        register_module("backbone", std::make_shared<PathAggregation>(scale, spec.channels));
    head_ = register_module("head", std::make_shared<DecoupledHead>(scale, spec.classes));
  }
  at::Tensor forward(const at::Tensor& images) override {
    const at::Tensor raw = head_->forward(backbone_->forward(images)).to(at::kFloat);
    return decoded(raw, anchor_points(images.size(2), images.size(3), images.device()));
  }
  std::string head() const override { return "head.cls_preds."; }
  std::string stem() const override { return "backbone.backbone.stem.conv"; }

 private:
  std::shared_ptr<PathAggregation> backbone_;
  std::shared_ptr<DecoupledHead> head_;
};

constexpr Scale kNano = {0.33, 0.25, true}, kTiny = {0.33, 0.375, false},
                kSmall = {0.33, 0.5, false};

template <const Scale& kScale>
std::shared_ptr<Model> make_yolox(const ModelSpec& spec) {
  return std::make_shared<Yolox>(kScale, spec);
}

constexpr Arch arch_of(std::string_view name, std::string_view summary,
                       std::shared_ptr<Model> (*make)(const ModelSpec&), int image_size,
                       double mosaic) {
  return {.name = name,
          .summary = summary,
          .make = make,
          .image_size = image_size,
          .augment = AugmentKind::kAffine,
          .epochs = 300,
          .batch_size = 64,
          .lr = 0.01,
          .weight_decay = 5e-4,
          .warmup_share = 5.0 / 300,
          .task = TaskKind::kDetect,
          .ema_decay = 0.9998,
          .mosaic = mosaic,
          .close_mosaic_share = 15.0 / 300,
          .multi_scale = 0.25};
}

}  // namespace

constinit const Arch kYoloxNano =
    arch_of("yolox-nano", "YOLOX with depthwise convolutions, 0.9 M parameters", make_yolox<kNano>,
            416, 0.5);
constinit const Arch kYoloxTiny =
    arch_of("yolox-tiny", "YOLOX, 5 M parameters", make_yolox<kTiny>, 416, 1);
constinit const Arch kYoloxS =
    arch_of("yolox-s", "YOLOX, 9 M parameters", make_yolox<kSmall>, 640, 1);

}  // namespace packhorse::trainer
