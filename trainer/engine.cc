#include "packhorse/trainer/engine.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "packhorse/error.h"
#include "packhorse/trainer/autocast.h"
#include "packhorse/trainer/checkpoint.h"
#include "packhorse/trainer/models.h"
#include "packhorse/trainer/normalize.h"
#include "packhorse/trainer/prefetcher.h"
#include "packhorse/trainer/sgd.h"
#include "packhorse/trainer/weights.h"

namespace packhorse::trainer {
namespace {

at::Device to_torch(const Device& device) {
  if (!device.is_cuda()) return at::kCPU;
  return {at::kCUDA, static_cast<c10::DeviceIndex>(device.index)};
}

std::shared_ptr<Model> prepare_model(const Recipe& recipe, std::int64_t classes,
                                     const at::Device& device) {
  at::manual_seed(recipe.seed);
  auto model = make_model(recipe.arch, classes, recipe.image_size);
  if (recipe.channels_last) make_channels_last(*model);
  model->to(device);
  return model;
}

NamedTensors named_parameters(const Model& model) {
  NamedTensors all;
  for (const auto& item : model.named_parameters()) all.emplace_back(item.key(), item.value());
  return all;
}

NamedTensors named_state(const Model& model) {
  NamedTensors all = named_parameters(model);
  for (const auto& item : model.named_buffers()) all.emplace_back(item.key(), item.value());
  return all;
}

void copy_into(const NamedTensors& to, const NamedTensors& from,
               const std::filesystem::path& path) {
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::kCorrupt, "the checkpoint does not fit the model: " + why, path);
  };
  if (to.size() != from.size()) fail("it has another number of tensors");
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto& [name, tensor] = to[i];
    if (name != from[i].first) fail("'" + from[i].first + "' is not '" + name + "'");
    if (tensor.sizes() != from[i].second.sizes()) fail("'" + name + "' has another shape");
    tensor.detach().copy_(from[i].second);
  }
}

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels, double smoothing,
                         at::Reduction::Reduction reduction) {
  return at::cross_entropy_loss(logits, labels, {}, reduction, -100, smoothing);
}

}  // namespace

struct Engine::Impl {
  Impl(const Recipe& recipe_, std::int64_t classes, const Device& device_)
      : recipe(recipe_),
        device(to_torch(device_)),
        model(prepare_model(recipe, classes, device)),
        sgd(named_parameters(*model), {recipe.momentum, recipe.nesterov, recipe.weight_decay}),
        loss_sum(at::zeros({}, at::TensorOptions(device).dtype(at::kDouble))) {}

  at::Tensor pixels(const DeviceBatch& batch) const {
    auto x = normalize(batch.images, normalization);
    return recipe.channels_last ? x : x.contiguous();
  }

  at::Tensor training_loss(const DeviceBatch& batch) const {
    const Autocast autocast(device.type(), at::kBFloat16, recipe.amp == Amp::kBf16);
    return cross_entropy(model->forward(pixels(batch)), batch.labels, recipe.label_smoothing,
                         at::Reduction::Mean);
  }

  Recipe recipe;
  at::Device device;
  std::shared_ptr<Model> model;
  FusedSgd sgd;
  Normalization normalization;
  at::Tensor loss_sum;  ///< stays on the device until mean_loss() asks
  std::int64_t loss_steps = 0;
};

Engine::Engine(const Recipe& recipe, std::int64_t classes, const Device& device) try {
  if (device.is_cuda()) {
    at::globalContext().setBenchmarkCuDNN(true);
    at::globalContext().setAllowTF32CuDNN(true);
  }
  impl_ = std::make_unique<Impl>(recipe, classes, device);
} catch (...) {
  rethrow_as_error();
}

Engine::~Engine() = default;

std::int64_t Engine::parameters() const { return count_parameters(*impl_->model); }

void Engine::train_step(const DeviceBatch& batch, double lr) try {
  impl_->model->train();
  impl_->sgd.zero_grad();
  const auto loss = impl_->training_loss(batch);
  loss.backward();
  impl_->sgd.step(lr);
  impl_->loss_sum.add_(loss.detach());
  ++impl_->loss_steps;
} catch (...) {
  rethrow_as_error();
}

std::vector<std::string> Engine::init_from(const std::filesystem::path& path, Head head) try {
  return load_weights(*impl_->model, path, head);
} catch (...) {
  rethrow_as_error();
}

double Engine::mean_loss() try {
  if (impl_->loss_steps == 0) return 0;
  const double mean = impl_->loss_sum.item<double>() / static_cast<double>(impl_->loss_steps);
  impl_->loss_sum.zero_();
  impl_->loss_steps = 0;
  if (!std::isfinite(mean)) {
    throw Error(
        ErrorKind::kUnsupported, "the loss is no longer a finite number", {},
        "Use a lower --lr or a longer --warmup-epochs; the last checkpoint is from before.");
  }
  return mean;
} catch (...) {
  rethrow_as_error();
}

Scores Engine::evaluate(Prefetcher& batches, std::stop_token stop) try {
  const at::NoGradGuard no_grad;
  impl_->model->eval();
  auto sums = at::zeros({3}, impl_->loss_sum.options());  // loss, right, right among five
  Scores scores;
  while (auto batch = batches.next()) {
    if (stop.stop_requested()) {
      throw Error(ErrorKind::kInterrupted, "the evaluation was interrupted");
    }
    const auto logits = impl_->model->forward(impl_->pixels(*batch));
    const auto best = std::get<1>(logits.topk(std::min<std::int64_t>(5, logits.size(1)), 1));
    const auto right = best.eq(batch->labels.unsqueeze(1));
    sums[0].add_(
        cross_entropy(logits, batch->labels, 0, at::Reduction::None).to(at::kDouble).sum());
    sums[1].add_(right.select(1, 0).sum());
    sums[2].add_(right.sum());
    scores.images += static_cast<std::uint64_t>(batch->size);
  }
  if (scores.images == 0) return scores;
  const auto result = sums.cpu();
  const auto images = static_cast<double>(scores.images);
  scores.loss = result[0].item<double>() / images;
  scores.top1 = 100 * result[1].item<double>() / images;
  scores.top5 = 100 * result[2].item<double>() / images;
  return scores;
} catch (...) {
  rethrow_as_error();
}

void Engine::save(const std::filesystem::path& path, const nlohmann::json& meta) const try {
  Checkpoint checkpoint;
  checkpoint.meta = meta;
  checkpoint.meta["mean"] = impl_->normalization.mean;
  checkpoint.meta["std"] = impl_->normalization.stddev;
  checkpoint.model = named_state(*impl_->model);
  checkpoint.momentum = impl_->sgd.momentum();
  checkpoint.rng = at::detail::getDefaultCPUGenerator().get_state();
  write_checkpoint(path, checkpoint);
} catch (...) {
  rethrow_as_error();
}

void Engine::load(const std::filesystem::path& path) try {
  const Checkpoint checkpoint = read_checkpoint(path);
  checkpoint.meta.at("mean").get_to(impl_->normalization.mean);
  checkpoint.meta.at("std").get_to(impl_->normalization.stddev);
  copy_into(named_state(*impl_->model), checkpoint.model, path);
  copy_into(impl_->sgd.momentum(), checkpoint.momentum, path);
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  generator.set_state(checkpoint.rng);
} catch (const nlohmann::json::exception&) {
  throw Error(ErrorKind::kCorrupt, "the checkpoint lacks the mean and deviation of its pixels",
              path);
} catch (...) {
  rethrow_as_error();
}

}  // namespace packhorse::trainer
