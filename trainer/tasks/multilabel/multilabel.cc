#include <ATen/TensorOperators.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "input/prefetcher.h"
#include "packhorse/base/error.h"
#include "packhorse/trainer/models/models.h"
#include "packhorse/trainer/parallel/processes.h"
#include "tasks/mixing.h"
#include "tasks/multilabel/label_scores.h"
#include "tasks/task.h"

namespace packhorse::trainer {

namespace {

constexpr float kHas = 0.5F;  // from which score on a picture has a class

const std::vector<std::string>& classes_of(const reader::Dataset& dataset) {
  for (const TargetRecord& target : dataset.targets())
    if (target.kind == kClassesTarget) return target.classes;
  throw Error(ErrorKind::kUsage, "the dataset says nothing of several classes of its pictures", {},
              "pack it with a table of them: `pack(targets=classes:FILE)` "
              "(docs/annotations.md)");
}

/// float [B, C]: the score of each class, 1 where none is said; on the CPU. Throws Error(kUsage)
/// for scores that only some samples have, or that are no targets.
at::Tensor wanted_of(const DeviceBatch& batch, std::int64_t classes) {
  const reader::BatchTargets& targets = batch.targets;
  const ClassSet& all = targets.classes;
  const bool scored = !all.scores.empty();
  if ((scored && all.scores.size() != all.labels.size()) ||
      std::ranges::any_of(all.scores, [](float score) { return !(score >= 0 && score <= 1); }))
    throw Error(
        ErrorKind::kUsage,
        "the scores of the pictures' classes are not 0 to 1, or only some pictures have them", {},
        "pack the pictures with a table whose numbers are all 0 to 1");
  at::Tensor wanted = at::zeros({batch.size, classes});
  auto* const rows = wanted.mutable_data_ptr<float>();
  for (std::int64_t sample = 0; sample < batch.size; ++sample) {
    const auto at = static_cast<std::size_t>(sample);
    for (std::size_t i = targets.class_offsets.at(at); i < targets.class_offsets.at(at + 1); ++i) {
      rows[sample * classes + all.labels[i]] = scored ? all.scores[i] : 1.0F;
    }
  }
  return wanted;
}

class LabelScorer final : public Scorer {
 public:
  explicit LabelScorer(std::size_t classes) : classes_(classes), found_(classes) {}

  void add(const at::Tensor& logits, const DeviceBatch& batch) override {
    const at::Tensor wanted = wanted_of(batch, logits.size(1));
    const at::Tensor ours = logits.cpu();
    loss_ += at::binary_cross_entropy_with_logits(ours, wanted).item<double>() *
             static_cast<double>(batch.size);
    const at::Tensor scores = ours.sigmoid().contiguous();
    const at::Tensor truth = (wanted >= kHas).to(at::kByte).contiguous();
    for (std::int64_t i = 0; i < batch.size; ++i)
      found_.add({scores[i].const_data_ptr<float>(), classes_},
                 {truth[i].const_data_ptr<std::uint8_t>(), classes_});
  }

  void join(const Processes& processes) override {
    if (processes.size() == 1) return;
    const at::Tensor sum = at::full({1}, loss_, at::kDouble);
    processes.sum(sum);
    loss_ = sum.item<double>();
    LabelScores all(classes_);
    for (const std::vector<std::byte>& part : processes.gather(found_.serialise())) all.merge(part);
    found_ = std::move(all);
  }

  Scores scores() const override {
    const auto of = [](const std::optional<double>& score) {
      return score.value_or(std::numeric_limits<double>::quiet_NaN());
    };
    const auto pictures = static_cast<double>(std::max<std::size_t>(1, found_.pictures()));
    return {.task = TaskKind::kMultiLabel,
            .images = found_.pictures(),
            .values = {of(found_.mean_average_precision()), of(found_.f1()), loss_ / pictures},
            .detection = {}};
  }

 private:
  std::size_t classes_;
  LabelScores found_;
  double loss_ = 0;  ///< summed over pictures
};

class MultiLabel final : public Task {
 public:
  explicit MultiLabel(const Recipe& recipe) : recipe_(recipe) {}

  const std::vector<std::string>& classes(const reader::Dataset& dataset) const override {
    return classes_of(dataset);
  }
  void read_for_training(reader::LoaderOptions& options) const override {
    options.augment = train_augment(recipe_);
    options.pixels = reader::parse_pixel_steps(recipe_.pixel_steps);
    options.targets = reader::TargetRules{};
  }
  void read_for_scoring(reader::LoaderOptions& options) const override {
    options.augment = eval_augment(recipe_);
    options.targets = reader::TargetRules{};
  }

  at::Tensor loss(Model& model, const at::Tensor& images, const DeviceBatch& batch,
                  const StepPlace& place) const override {
    const MixedImages mixed = mix_images(recipe_, images, place);
    const at::Tensor logits = model.forward(mixed.images).to(at::kFloat);
    at::Tensor wanted = wanted_of(batch, logits.size(1)).to(logits.device(), true);
    if (mixed.partners.defined())
      wanted = wanted.lerp(wanted.index_select(0, mixed.partners), 1 - mixed.lambda);
    const double smoothing = recipe_.label_smoothing;
    return at::binary_cross_entropy_with_logits(logits, wanted * (1 - smoothing) + smoothing / 2);
  }
  bool is_graphable() const override { return false; }

  void add_made_targets(DeviceBatch& batch, std::int64_t classes) const override {
    reader::BatchTargets& targets = batch.targets;
    for (std::int64_t sample = 0; sample < batch.size; ++sample) {
      targets.classes.labels.push_back(static_cast<std::int32_t>(sample % classes));
      targets.class_offsets.push_back(static_cast<std::uint32_t>(sample + 1));
    }
  }

  std::unique_ptr<Scorer> scorer(std::shared_ptr<const reader::Dataset> dataset,
                                 ScorerOptions) const override {
    return std::make_unique<LabelScorer>(classes_of(*dataset).size());
  }

 private:
  Recipe recipe_;
};

}  // namespace

std::unique_ptr<const Task> make_multilabel(const Recipe& recipe) {
  return std::make_unique<MultiLabel>(recipe);
}

}  // namespace packhorse::trainer
