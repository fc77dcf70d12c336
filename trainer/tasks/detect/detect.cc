#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/permutation.h"
#include "input/prefetcher.h"
#include "packhorse/base/error.h"
#include "packhorse/targets/objects.h"
#include "packhorse/trainer/models/models.h"
#include "tasks/detect/family.h"
#include "tasks/detect/object_scorer.h"
#include "tasks/task.h"

namespace packhorse::trainer {

namespace {

constexpr int kMultiple = 32;             // of the sides of a detector's input
constexpr int kMadeObjects = 7;           // of a picture: COCO's mean
constexpr std::int64_t kScaleSteps = 10;  // that have the same scale
constexpr std::size_t kMostAsked = 1000;  // samples that are asked for a mask

/// The objects to be found in training: all but crowds.
TrueBoxes true_boxes(const DeviceBatch& batch, const at::Device& device) {
  const reader::BatchTargets& targets = batch.targets;
  const auto counts = [&](std::size_t i) { return (targets.objects.flags[i] & kCrowd) == 0; };
  const auto size = static_cast<std::size_t>(batch.size);
  std::vector<std::vector<std::size_t>> rows(size);
  std::size_t most = 0;
  for (std::size_t sample = 0; sample < size; ++sample) {
    for (std::size_t i = targets.offsets.at(sample); i < targets.offsets.at(sample + 1); ++i)
      if (counts(i)) rows[sample].push_back(i);
    most = std::max(most, rows[sample].size());
  }
  const auto height = static_cast<std::int64_t>(most);
  TrueBoxes truth{at::full({batch.size, height, 4}, 1.0, at::kFloat),
                  at::zeros({batch.size, height}, at::kLong),
                  at::zeros({batch.size, height}, at::kBool),
                  {}};
  for (const std::vector<std::size_t>& of_sample : rows)
    truth.counts.push_back(static_cast<std::int64_t>(of_sample.size()));
  auto* const boxes = truth.boxes.mutable_data_ptr<float>();
  auto* const labels = truth.labels.mutable_data_ptr<std::int64_t>();
  auto* const real = truth.real.mutable_data_ptr<bool>();
  for (std::size_t sample = 0; sample < size; ++sample) {
    for (std::size_t row = 0; row < rows[sample].size(); ++row) {
      const std::size_t at = sample * most + row, i = rows[sample][row];
      const Box& box = targets.objects.boxes[i];
      boxes[4 * at] = (box.left + box.right) / 2;
      boxes[4 * at + 1] = (box.top + box.bottom) / 2;
      boxes[4 * at + 2] = box.right - box.left;
      boxes[4 * at + 3] = box.bottom - box.top;
      labels[at] = targets.objects.labels[i];
      real[at] = true;
    }
  }
  const auto there = [&](const at::Tensor& tensor) {
    return tensor.to(device, /*non_blocking=*/true);
  };
  return {there(truth.boxes), there(truth.labels), there(truth.real), std::move(truth.counts)};
}

/// False where no object has an outline or a mask, of samples from all over a dataset. Damaged ones
/// say nothing: what becomes of them is for the reader to decide.
bool may_have_masks(const reader::Dataset& dataset) {
  const std::vector<std::string>& fields = dataset.fields();
  const auto field = static_cast<std::size_t>(std::ranges::find(fields, objects_of(dataset).name) -
                                              fields.begin());
  std::vector<std::byte> bytes;
  const std::size_t asked = std::min(dataset.size(), kMostAsked);
  std::size_t damaged = 0;
  for (std::size_t i = 0; i < asked; ++i) {
    const std::size_t sample = i * dataset.size() / asked;
    try {
      if (!dataset.read_field(sample, field, bytes)) continue;
      const ObjectColumns columns = packhorse::find_objects(bytes);
      if (!columns.polygons.empty() || !columns.runs.empty()) return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kCorrupt) throw error_at(dataset, sample, error);
      ++damaged;
    }
  }
  return damaged == asked;
}

class Detect final : public Task {
 public:
  explicit Detect(const Recipe& recipe) : recipe_(recipe) {
    if (recipe.image_size % kMultiple != 0)
      throw Error(ErrorKind::kUsage,
                  fmt::format("a detector takes no pictures of {} pixels", recipe.image_size), {},
                  fmt::format("use an `image_size=` that is a multiple of {}", kMultiple));
  }

  const std::vector<std::string>& classes(const reader::Dataset& dataset) const override {
    return objects_of(dataset).classes;
  }

  void check_training(const reader::Dataset& dataset) const override {
    if (closes() && !mixes() && !family_of(recipe_).last_epochs_differ)
      throw Error(ErrorKind::kUsage, "no epoch has a mosaic, copied objects or mixup to close", {},
                  "use `close_mosaic=0`, or `mosaic=`, `copy_paste=` or `mixup=`");
    if (recipe_.copy_paste == 0 || may_have_masks(dataset)) return;
    throw Error(ErrorKind::kUsage,
                fmt::format("there is no object to copy: none of {} samples has an outline or a "
                            "mask",
                            std::min(dataset.size(), kMostAsked)),
                {}, "use `copy_paste=0`, or pack annotations with outlines");
  }

  void read_for_training(reader::LoaderOptions& options) const override {
    reader::DetectionAugment augment = letterbox(recipe_);
    if (recipe_.augment != AugmentKind::kNone) augment.flip = 0.5;
    if (recipe_.augment == AugmentKind::kAffine)
      augment.affine = {.degrees = {-10, 10},
                        .translate = {0.1, 0.1},
                        .min_scale = 0.5,
                        .max_scale = 1.5,
                        .shear_x = {-2, 2},
                        .shear_y = {-2, 2}};
    augment.mosaic.probability = recipe_.mosaic;
    augment.copy_paste.probability = recipe_.copy_paste;
    if (recipe_.mixup_alpha > 0) augment.mixup = {.probability = 1, .alpha = recipe_.mixup_alpha};
    if (mixes() && closes()) options.close_mosaic_from = first_closed();
    options.augment = augment;
    options.pixels = reader::parse_pixel_steps(recipe_.pixel_steps);
    using Masks = reader::TargetRules::Masks;
    options.targets = reader::TargetRules{.masks = recipe_.copy_paste > 0 ? Masks::kRunLengths
                                                                          : Masks::kAsStored};
  }

  void read_for_scoring(reader::LoaderOptions& options) const override {
    options.augment = letterbox(recipe_);
  }

  at::Tensor loss(Model& model, const at::Tensor& images, const DeviceBatch& batch,
                  const StepPlace& place) const override {
    TrueBoxes truth = true_boxes(batch, images.device());
    at::Tensor x = images;
    const std::int64_t size = size_at(place.step);
    if (size != x.size(2)) {
      truth.boxes *= static_cast<double>(size) / static_cast<double>(x.size(2));
      x = at::upsample_bilinear2d(x, {size, size}, /*align_corners=*/false);
    }
    const at::Tensor predictions = model.forward(x);
    const bool last_epochs = closes() && batch.after.epoch >= first_closed();
    return family_of(recipe_).loss(predictions, truth, size, last_epochs);
  }

  bool is_graphable() const override { return false; }

  void add_made_targets(DeviceBatch& batch, std::int64_t classes) const override {
    reader::BatchTargets& targets = batch.targets;
    const auto side = static_cast<float>(recipe_.image_size);
    for (std::int64_t sample = 0; sample < batch.size; ++sample) {
      for (int i = 0; i < kMadeObjects; ++i) {
        const float left = side * static_cast<float>(i) / (kMadeObjects + 2);
        targets.objects.boxes.push_back({left, left, left + side / 8, left + side / 8});
        targets.objects.labels.push_back(static_cast<std::int32_t>(i % classes));
        targets.objects.flags.push_back(0);
      }
      targets.offsets.push_back(static_cast<std::uint32_t>(targets.objects.size()));
    }
  }

  std::unique_ptr<Scorer> scorer(std::shared_ptr<const reader::Dataset> dataset,
                                 ScorerOptions options) const override {
    return make_object_scorer(recipe_, std::move(dataset), std::move(options));
  }

 private:
  bool closes() const { return recipe_.close_mosaic > 0; }
  /// Whether a sample may be made of several pictures.
  bool mixes() const {
    return recipe_.mosaic > 0 || recipe_.copy_paste > 0 || recipe_.mixup_alpha > 0;
  }
  /// The first epoch without a mosaic.
  std::uint64_t first_closed() const {
    return static_cast<std::uint64_t>(recipe_.epochs - std::llround(recipe_.close_mosaic));
  }
  /// The side of the network's input, the same in all processes.
  std::int64_t size_at(std::int64_t step) const {
    const std::int64_t all = recipe_.image_size / kMultiple;
    const auto reach = static_cast<std::int64_t>(std::round(double(all) * recipe_.multi_scale));
    const std::uint64_t draw =
        mix64(recipe_.seed ^ mix64(static_cast<std::uint64_t>(step / kScaleSteps)));
    const auto range = static_cast<std::uint64_t>(2 * reach + 1);
    const std::int64_t cells = all - reach + static_cast<std::int64_t>(draw % range);
    return kMultiple * std::max<std::int64_t>(1, cells);
  }

  Recipe recipe_;
};

}  // namespace

std::unique_ptr<const Task> make_detect(const Recipe& recipe) {
  return std::make_unique<Detect>(recipe);
}

}  // namespace packhorse::trainer
