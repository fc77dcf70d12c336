#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "input/prefetcher.h"
#include "packhorse/trainer/models/models.h"
#include "packhorse/trainer/parallel/processes.h"
#include "tasks/mixing.h"
#include "tasks/task.h"

namespace packhorse::trainer {

namespace {

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels, double smoothing,
                         at::Reduction::Reduction reduction) {
  return at::cross_entropy_loss(logits, labels, {}, reduction, -100, smoothing);
}

class ClassScorer final : public Scorer {
 public:
  void add(const at::Tensor& logits, const DeviceBatch& batch) override {
    if (!sums_.defined()) sums_ = at::zeros({3}, logits.options().dtype(at::kDouble));
    const auto best = std::get<1>(logits.topk(std::min<std::int64_t>(5, logits.size(1)), 1));
    const auto right = best.eq(batch.labels.unsqueeze(1));
    sums_[0].add_(right.select(1, 0).sum());
    sums_[1].add_(right.sum());
    sums_[2].add_(
        cross_entropy(logits, batch.labels, 0, at::Reduction::None).to(at::kDouble).sum());
    images_ += static_cast<double>(batch.size);
  }

  void join(const Processes& processes) override {
    const auto all = at::zeros({4}, at::kDouble);
    if (sums_.defined()) all.narrow(0, 0, 3).copy_(sums_);
    all[3] = images_;
    processes.sum(all);
    sums_ = all.narrow(0, 0, 3);
    images_ = all[3].item<double>();
  }

  Scores scores() const override {
    const double images = std::max(1.0, images_);
    const auto mean = [&](int i) { return sums_.defined() ? sums_[i].item<double>() / images : 0; };
    return {.task = TaskKind::kClassify,
            .images = static_cast<std::uint64_t>(images_),
            .values = {100 * mean(0), 100 * mean(1), mean(2)},
            .detection = {}};
  }

 private:
  at::Tensor sums_;  ///< top-1 hits, top-5 hits, loss; on the device
  double images_ = 0;
};

class Classify final : public Task {
 public:
  explicit Classify(const Recipe& recipe) : recipe_(recipe) {}

  const std::vector<std::string>& classes(const reader::Dataset& dataset) const override {
    return dataset.classes();
  }
  void read_for_training(reader::LoaderOptions& options) const override {
    options.augment = train_augment(recipe_);
    options.pixels = reader::parse_pixel_steps(recipe_.pixel_steps);
  }
  void read_for_scoring(reader::LoaderOptions& options) const override {
    options.augment = eval_augment(recipe_);
  }
  at::Tensor loss(Model& model, const at::Tensor& images, const DeviceBatch& batch,
                  const StepPlace& place) const override;
  bool is_graphable() const override {
    const auto mix = mix_options(recipe_);
    return mix.mixup_alpha == 0 && mix.cutmix_alpha == 0;
  }
  void add_made_targets(DeviceBatch&, std::int64_t) const override {}
  std::unique_ptr<Scorer> scorer(std::shared_ptr<const reader::Dataset>,
                                 ScorerOptions) const override {
    return std::make_unique<ClassScorer>();
  }

 private:
  Recipe recipe_;
};

// Mixing is linear, so it can follow normalize() and run on the device.
at::Tensor Classify::loss(Model& model, const at::Tensor& images, const DeviceBatch& batch,
                          const StepPlace& place) const {
  const MixedImages mixed = mix_images(recipe_, images, place);
  const auto logits = model.forward(mixed.images);
  const auto loss_of = [&](const at::Tensor& labels) {
    return cross_entropy(logits, labels, recipe_.label_smoothing, at::Reduction::Mean);
  };
  if (!mixed.partners.defined()) return loss_of(batch.labels);
  return mixed.lambda * loss_of(batch.labels) +
         (1 - mixed.lambda) * loss_of(batch.labels.index_select(0, mixed.partners));
}

}  // namespace

std::unique_ptr<const Task> make_classify(const Recipe& recipe) {
  return std::make_unique<Classify>(recipe);
}

}  // namespace packhorse::trainer
