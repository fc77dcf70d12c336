#include "train/engine.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/permutation.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/state_dict.h"
#include "device/autocast.h"
#include "device/ranges.h"
#include "device/step_graph.h"
#include "input/normalize.h"
#include "input/prefetcher.h"
#include "models/traced.h"
#include "optim/ema.h"
#include "optim/grad_scaler.h"
#include "packhorse/base/error.h"
#include "packhorse/trainer/models/models.h"
#include "parallel/data_parallel.h"
#include "tasks/task.h"

namespace packhorse::trainer {
namespace {

at::Device to_torch(const Device& device) {
  if (!device.is_cuda()) return at::kCPU;
  return {at::kCUDA, static_cast<c10::DeviceIndex>(device.index)};
}

std::shared_ptr<Model> prepare_model(const Recipe& recipe, std::int64_t classes,
                                     const at::Device& device) {
  at::manual_seed(recipe.seed);
  auto model = make_model(recipe.arch, classes, recipe.image_size, recipe.input_channels());
  if (recipe.channels_last) make_channels_last(*model);
  model->to(device);
  return model;
}

/// float16 needs a scale that changes; noticing non-finite gradients needs none.
GradScaler make_scaler(const Recipe& recipe, const at::Device& device) {
  if (recipe.amp == Amp::kFp16) return GradScaler(device);
  return GradScaler(device, {.init_scale = 1, .growth = 1, .backoff = 1});
}

/// Whether steps are skipped and counted. A resumed run continues the count.
bool skips_steps(const Recipe& recipe) {
  return recipe.amp == Amp::kFp16 || recipe.non_finite == NonFinite::kSkip;
}

constexpr const char* kDivergedAdvice =
    "use a lower `lr=`, a longer `warmup_epochs=` or `clip_norm=`, and start anew or continue from "
    "an "
    "older checkpoint (`keep=`): the latest may be from after the step that went wrong";

/// A float16 gradient that overflows at this scale would overflow at any.
constexpr double kLeastScale = 1.0 / (1 << 24);

}  // namespace

struct Engine::Impl {
  Impl(const Recipe& recipe_, std::int64_t classes, const EngineOptions& options)
      : recipe(recipe_),
        device(to_torch(options.device)),
        processes(options.processes != nullptr ? *options.processes : alone),
        task(make_task(recipe)),
        model(prepare_model(recipe, classes, device)),
        optimizer(make_optimizer(named_parameters(*model), optimizer_options(recipe))),
        parallel(processes, named_parameters(*model), named_buffers(*model)),
        scaler(make_scaler(recipe, device)),
        sums(at::zeros({2}, at::TensorOptions(device).dtype(at::kDouble))) {
    if (recipe.channels > 0) {
      normalization.mean.assign(static_cast<std::size_t>(recipe.channels), 0);
      normalization.stddev.assign(static_cast<std::size_t>(recipe.channels), 1);
    }
    if (recipe.sync_bn) sync_batch_norms(*model, processes);
    if (recipe.ema_decay > 0) ema.emplace(named_state(*model), recipe.ema_decay);
    if (options.cuda_graph) graph = std::make_unique<StepGraph>(options.device);
    if (graph) require_graphable();
  }

  at::Tensor pixels(const DeviceBatch& batch, at::ScalarType type) const {
    auto x = normalize(batch.images, normalization, type);
    return recipe.channels_last ? x : x.contiguous();
  }

  bool low_precision() const { return recipe.amp != Amp::kOff; }
  at::ScalarType low_type() const { return recipe.amp == Amp::kFp16 ? at::kHalf : at::kBFloat16; }
  /// The batch in the model's input type. On a CPU oneDNN casts what it needs.
  at::Tensor input(const DeviceBatch& batch) const {
    return pixels(batch, low_precision() && device.is_cuda() ? low_type() : at::kFloat);
  }
  /// The scope in which the model computes in the recipe's precision.
  Autocast autocast() const { return {device.type(), low_type(), low_precision()}; }

  at::Tensor training_loss(const DeviceBatch& batch, const StepPlace& place) const;
  /// Everything that the device does in a step.
  void work(const DeviceBatch& batch, const StepPlace& place);
  void update();
  void require_graphable() const;
  /// Copies the batch to the memory that the captured step reads.
  void hold(const DeviceBatch& batch);

  /// Keeps what the parts of a step change before its last one.
  void keep_state() {
    const at::NoGradGuard no_grad;
    before.clear();
    for (const auto& [name, tensor] : named_buffers(*model)) before.push_back(tensor.clone());
    sums_before = sums.clone();
    losses_before = losses;
  }

  /// Seeds the device's random numbers, for dropout and the like.
  void seed(const StepPlace& place) const {
    const auto part = static_cast<std::uint64_t>(place.step * recipe.accumulate + place.part);
    const auto rank = static_cast<std::uint64_t>(processes.rank());
    at::manual_seed(mix64(mix64(recipe.seed ^ mix64(part)) + rank));
  }

  Processes alone;
  Recipe recipe;
  at::Device device;
  const Processes& processes;
  std::unique_ptr<const Task> task;
  std::shared_ptr<Model> model;
  std::unique_ptr<Optimizer> optimizer;
  DataParallel parallel;
  GradScaler scaler;
  std::optional<Ema> ema;
  std::unique_ptr<StepGraph> graph;
  DeviceBatch held = {};
  Normalization normalization;
  at::Tensor sums;           ///< sum and number of the finite losses; on the device until report()
  std::int64_t losses = 0;   ///< added since the last report, finite or not
  std::int64_t skipped = 0;  ///< steps, at the last report
  /// Where a step has several parts, as it was before them: the model's buffers, and the losses.
  std::vector<at::Tensor> before;
  at::Tensor sums_before;
  std::int64_t losses_before = 0;
};

at::Tensor Engine::Impl::training_loss(const DeviceBatch& batch, const StepPlace& place) const {
  const Range range("forward");
  const at::Tensor x = input(batch);
  const Autocast precision = autocast();
  return task->loss(*model, x, batch, place);
}

void Engine::Impl::work(const DeviceBatch& batch, const StepPlace& place) {
  const bool last = place.part == recipe.accumulate - 1;
  if (place.part == 0) optimizer->zero_grad();
  parallel.before_forward();
  const auto loss = training_loss(batch, place);
  parallel.before_backward(/*reduce=*/last);
  const auto share = loss / static_cast<double>(recipe.accumulate);
  {
    const Range range("backward");
    scaler.scale(share).backward();
  }
  if (last) update();
  const at::NoGradGuard no_grad;
  const auto finite = loss.detach().isfinite();
  sums[0].add_(at::where(finite, loss.detach(), 0));
  sums[1].add_(finite);
}

void Engine::Impl::update() {
  const Range range("optimiser");
  const auto gradients = optimizer->gradients();
  scaler.unscale(gradients);
  if (recipe.clip_norm > 0) clip_grad_norm(gradients, recipe.clip_norm);
  optimizer->step(scaler.found_inf());
  scaler.update();
}

// A captured graph would replay changes between steps that are not in tensors as they were
// captured.
void Engine::Impl::require_graphable() const {
  if (processes.group() == nullptr && recipe.accumulate == 1 && task->is_graphable()) return;
  throw Error(
      ErrorKind::kUsage,
      "a CUDA graph needs a single process and `accumulate=1`, without `mixup=`, `cutmix=` or "
      "objects to find",
      {}, "leave out `cuda_graph=`, or those options");
}

void Engine::Impl::hold(const DeviceBatch& batch) {
  if (!held.images.defined()) {
    held.images = at::empty_like(batch.images);
    held.labels = at::empty_like(batch.labels);
    held.size = batch.size;
  }
  held.images.copy_(batch.images, /*non_blocking=*/true);
  held.labels.copy_(batch.labels, /*non_blocking=*/true);
}

Engine::Engine(const Recipe& recipe, std::int64_t classes, const EngineOptions& options) try {
  if (options.device.is_cuda()) {
    at::globalContext().setBenchmarkCuDNN(true);
    at::globalContext().setAllowTF32CuDNN(true);
  }
  impl_ = std::make_unique<Impl>(recipe, classes, options);
} catch (...) {
  rethrow_as_error();
}

Engine::~Engine() = default;

const Normalization& Engine::normalization() const { return impl_->normalization; }
void Engine::set_normalization(Normalization normalization) {
  impl_->normalization = std::move(normalization);
}

std::string Engine::traced(const std::string& text) {
  std::optional<Ema::Applied> averaged;
  if (impl_->ema) averaged.emplace(*impl_->ema);
  const std::int64_t side = impl_->recipe.image_size;
  const at::Tensor example =
      at::zeros({1, impl_->recipe.input_channels(), side, side}, at::TensorOptions(impl_->device));
  return trainer::traced(*impl_->model, example, text);
}

std::int64_t Engine::parameters() const { return count_parameters(*impl_->model); }

LoadedWeights Engine::init_from(const std::filesystem::path& path, const WeightsUse& use) try {
  LoadedWeights loaded = load_weights(*impl_->model, path, use);
  if (impl_->ema) copy_into(impl_->ema->average(), named_state(*impl_->model), path);
  return loaded;
} catch (...) {
  rethrow_as_error();
}

void Engine::train(const DeviceBatch& batch, const StepPlace& place) try {
  impl_->seed(place);
  impl_->model->train();
  if (place.part == 0) impl_->optimizer->set_lr(place.lr);
  if (place.part == 0 && impl_->recipe.accumulate > 1) impl_->keep_state();
  if (impl_->graph) {
    impl_->hold(batch);
    const Range range("graph");
    impl_->graph->run([&] { impl_->work(impl_->held, place); });
  } else {
    impl_->work(batch, place);
  }
  ++impl_->losses;
  const bool last = place.part == impl_->recipe.accumulate - 1;
  if (last && impl_->ema) impl_->ema->update(place.step);
} catch (...) {
  rethrow_as_error(
      fmt::format("{} images of {} px at a time", batch.size, impl_->recipe.image_size));
}

void Engine::drop_parts() try {
  const at::NoGradGuard no_grad;
  const NamedTensors buffers = named_buffers(*impl_->model);
  for (std::size_t i = 0; i < buffers.size(); ++i)
    at::Tensor(buffers[i].second).copy_(impl_->before[i]);
  impl_->sums.copy_(impl_->sums_before);
  impl_->losses = impl_->losses_before;
} catch (...) {
  rethrow_as_error();
}

StepsReport Engine::report() try {
  StepsReport report;
  if (impl_->losses == 0) return report;
  impl_->processes.meet();
  auto sums = impl_->sums.cpu().clone();
  impl_->processes.sum(sums);
  const double finite = sums[1].item<double>();
  const auto all = static_cast<double>(impl_->losses * impl_->processes.size());
  impl_->sums.zero_();
  impl_->losses = 0;
  const std::int64_t skipped_before = std::exchange(impl_->skipped, impl_->scaler.skipped());
  const bool stops = impl_->recipe.non_finite == NonFinite::kStop;
  if (stops && finite < all) {
    throw Error(ErrorKind::kUnsupported, "the loss is no longer a finite number", {},
                kDivergedAdvice);
  }
  if (stops && !skips_steps(impl_->recipe) && impl_->skipped > skipped_before) {
    throw Error(ErrorKind::kUnsupported, "the gradients are no longer finite numbers", {},
                kDivergedAdvice);
  }
  report.skipped = impl_->skipped;
  report.loss_scale = impl_->scaler.current_scale();
  if (finite == 0 || report.loss_scale < kLeastScale) {
    throw Error(
        ErrorKind::kUnsupported, "the gradients are no longer finite numbers, step after step", {},
        "use a lower `lr=`, a longer `warmup_epochs=` or `amp=bf16`, from an earlier checkpoint");
  }
  report.loss = sums[0].item<double>() / finite;
  return report;
} catch (...) {
  rethrow_as_error();
}

void Engine::share_statistics() try {
  impl_->parallel.share_buffers();
  if (impl_->ema) {
    std::vector<at::Tensor> averages;
    for (const auto& [name, tensor] : impl_->ema->average()) averages.push_back(tensor);
    impl_->processes.broadcast(averages);
  }
  impl_->processes.meet();
} catch (...) {
  rethrow_as_error();
}

void Engine::evaluate(Prefetcher& batches, Scorer& scorer, std::stop_token stop) try {
  const Range range("eval");
  const at::NoGradGuard no_grad;
  std::optional<Ema::Applied> averaged;
  if (impl_->ema) averaged.emplace(*impl_->ema);
  impl_->model->eval();
  while (auto batch = batches.next()) {
    if (stop.stop_requested()) break;
    const auto outputs = [&] {
      const Autocast precision = impl_->autocast();
      return impl_->model->forward(impl_->input(*batch)).to(at::kFloat);
    }();
    scorer.add(outputs, *batch);
  }
} catch (...) {
  rethrow_as_error();
}

Checkpoint Engine::snapshot(const nlohmann::json& meta) const try {
  const Range range("save");
  NamedTensors all = named_state(*impl_->model);
  for (const auto& [slot, tensors] : impl_->optimizer->state()) {
    all.insert(all.end(), tensors.begin(), tensors.end());
  }
  if (impl_->ema) all.insert(all.end(), impl_->ema->average().begin(), impl_->ema->average().end());
  if (!all_finite(all)) {
    throw Error(ErrorKind::kUnsupported,
                "the parameters, or the optimiser's state, are no longer finite numbers; they are "
                "not saved",
                {}, kDivergedAdvice);
  }
  Checkpoint checkpoint;
  checkpoint.meta = meta;
  checkpoint.meta["mean"] = impl_->normalization.mean;
  checkpoint.meta["std"] = impl_->normalization.stddev;
  checkpoint.model = copied_to_cpu(named_state(*impl_->model));
  for (const auto& [slot, tensors] : impl_->optimizer->state())
    checkpoint.optimizer[slot] = copied_to_cpu(tensors);
  if (impl_->ema) checkpoint.ema = copied_to_cpu(impl_->ema->average());
  if (skips_steps(impl_->recipe)) checkpoint.scaler = impl_->scaler.state();
  return checkpoint;
} catch (...) {
  rethrow_as_error();
}

void Engine::load(const Checkpoint& checkpoint, const std::filesystem::path& path) try {
  load_normalization(checkpoint, path, impl_->normalization);
  copy_into(named_state(*impl_->model), checkpoint.model, path);
  for (const auto& [slot, tensors] : impl_->optimizer->state()) {
    const auto saved = checkpoint.optimizer.find(slot);
    if (saved == checkpoint.optimizer.end()) {
      throw Error(ErrorKind::kCorrupt, "the checkpoint lacks the optimiser's '" + slot + "'", path);
    }
    copy_into(tensors, saved->second, path);
  }
  if (impl_->ema) copy_into(impl_->ema->average(), checkpoint.ema, path);
  if (skips_steps(impl_->recipe) && checkpoint.scaler.defined()) {
    impl_->scaler.load(checkpoint.scaler);
    impl_->skipped = impl_->scaler.skipped();
  }
} catch (...) {
  rethrow_as_error();
}

void Engine::load_model(const Checkpoint& checkpoint, const std::filesystem::path& path) try {
  load_normalization(checkpoint, path, impl_->normalization);
  if (impl_->ema && checkpoint.ema.empty())
    throw Error(ErrorKind::kCorrupt, "the checkpoint lacks the averaged parameters", path);
  copy_into(named_state(*impl_->model), checkpoint.model, path);
  if (impl_->ema) copy_into(impl_->ema->average(), checkpoint.ema, path);
} catch (...) {
  rethrow_as_error();
}

std::unique_ptr<const Task> make_task(const Recipe& recipe) {
  if (recipe.task == TaskKind::kDetect) return make_detect(recipe);
  if (recipe.task == TaskKind::kMultiLabel) return make_multilabel(recipe);
  return make_classify(recipe);
}

}  // namespace packhorse::trainer
