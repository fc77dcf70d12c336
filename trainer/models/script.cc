#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <set>

#include "models/archs.h"
#include "packhorse/base/error.h"
#include "packhorse/trainer/models/models.h"

namespace packhorse::trainer {
namespace {

constexpr const char* kSaveAdvice =
    "save the network with torch.jit.script(model).save(FILE), not frozen";

[[noreturn]] void throw_unfit(const std::string& what, const std::string& file) {
  throw Error(ErrorKind::kUnsupported, what, file, kSaveAdvice);
}

std::string first_line(const c10::Error& error) {
  const std::string what = error.what_without_backtrace();
  return what.substr(0, what.find('\n'));
}

/// A TorchScript module. Its parameters and buffers are registered here a second time: the same
/// tensors under the same names, so that optimisers and checkpoints see them.
class ScriptModel : public Model {
 public:
  ScriptModel(torch::jit::Module module, const ModelSpec& spec) : module_(std::move(module)) {
    mirror(*this, module_, spec.file);
    if (parameters().empty()) throw_unfit("the TorchScript module has no parameters", spec.file);
    check_head(spec);
  }

  at::Tensor forward(const at::Tensor& images) override {
    const auto scores = module_.forward({images});
    if (!scores.isTensor()) {
      throw Error(ErrorKind::kUnsupported, "the TorchScript module returns " + scores.tagKind() +
                                               ", not one tensor of scores");
    }
    return scores.toTensor();
  }

  bool is_script() const override { return true; }

  void train(bool on = true) override {
    Model::train(on);
    module_.train(on);
  }

 private:
  void mirror(torch::nn::Module& to, const torch::jit::Module& from, const std::string& file) {
    const auto once = [&](const std::string& name, const at::Tensor& tensor) {
      if (!seen_.insert(tensor.unsafeGetTensorImpl()).second) {
        throw_unfit("'" + name + "' of the TorchScript module is shared between layers", file);
      }
    };
    for (const auto& item : from.named_parameters(/*recurse=*/false)) {
      once(item.name, item.value);
      to.register_parameter(item.name, item.value, item.value.requires_grad());
    }
    for (const auto& item : from.named_buffers(/*recurse=*/false)) {
      once(item.name, item.value);
      to.register_buffer(item.name, item.value);
    }
    for (const auto& child : from.named_children()) {
      mirror(*to.register_module(child.name, std::make_shared<torch::nn::Module>()), child.value,
             file);
    }
  }

  void check_head(const ModelSpec& spec) {
    const at::NoGradGuard no_grad;
    train(false);
    at::Tensor scores;
    try {
      scores = forward(at::zeros({1, spec.channels, spec.image_size, spec.image_size}));
    } catch (const std::exception& error) {
      // Errors inside TorchScript have another type than LibTorch's own.
      const std::string what = error.what();
      throw_unfit(fmt::format("the TorchScript module fails on an image of {0}x{0}: {1}",
                              spec.image_size, what.substr(what.rfind('\n', what.size() - 2) + 1)),
                  spec.file);
    }
    train(true);
    if (scores.dim() != 2 || scores.size(0) != 1) {
      throw_unfit("the TorchScript module does not return one row of scores per image", spec.file);
    }
    if (scores.size(1) != spec.classes) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("the TorchScript module has {} outputs, but the data has {} classes",
                              scores.size(1), spec.classes),
                  spec.file, "give its last layer as many outputs as there are classes");
    }
  }

  torch::jit::Module module_;
  std::set<const c10::TensorImpl*> seen_;
};

std::shared_ptr<Model> make_script(const ModelSpec& spec) {
  if (spec.file.empty()) {
    throw Error(ErrorKind::kUsage, "'script:' needs a file name", {}, "use `arch=script:FILE`");
  }
  if (!std::filesystem::exists(spec.file)) {
    throw Error(ErrorKind::kNotFound, "the TorchScript module does not exist", spec.file);
  }
  const auto load = [&] {
    try {
      return torch::jit::load(spec.file, at::kCPU);
    } catch (const c10::Error& error) {
      throw Error(ErrorKind::kCorrupt, "this is not a TorchScript module: " + first_line(error),
                  spec.file, kSaveAdvice);
    }
  };
  return std::make_shared<ScriptModel>(load(), spec);
}

}  // namespace

constinit const Arch kScript = {.name = "script:FILE",
                                .summary = "a TorchScript module, saved by torch.jit.save",
                                .make = make_script,
                                .image_size = 224,
                                .augment = AugmentKind::kRandomResizedCrop,
                                .epochs = 90,
                                .batch_size = 256,
                                .lr = 0.1,
                                .weight_decay = 1e-4,
                                .warmup_share = 5.0 / 90};

}  // namespace packhorse::trainer
