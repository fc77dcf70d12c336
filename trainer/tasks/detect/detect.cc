#include "tasks/detect/detect.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "packhorse/base/error.h"
#include "packhorse/base/permutation.h"
#include "packhorse/reader/targets_reader.h"
#include "packhorse/trainer/input/prefetcher.h"
#include "packhorse/trainer/models/models.h"
#include "packhorse/trainer/parallel/processes.h"
#include "tasks/detect/detections.h"
#include "tasks/detect/yolox_loss.h"

namespace packhorse::trainer {

namespace {

constexpr int kMultiple = 32;             // of the sides of a detector's input
constexpr std::int64_t kScaleSteps = 10;  // that have the same scale

const TargetRecord& objects_of(const reader::Dataset& dataset) {
  for (const TargetRecord& target : dataset.targets())
    if (target.kind == kObjectsTarget) return target;
  throw Error(ErrorKind::kUsage, "the dataset says nothing of objects in its pictures", {},
              "pack it with its annotations: packhorse pack --targets (docs/sources.md)");
}

/// How pictures are put into the network's input when nothing is left to chance.
reader::DetectionAugment letterbox(const Recipe& recipe) {
  return {.size = {recipe.image_size, recipe.image_size}};
}

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
                  at::zeros({batch.size, height}, at::kBool)};
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
  return {there(truth.boxes), there(truth.labels), there(truth.real)};
}

class ObjectScorer final : public Scorer {
 public:
  ObjectScorer(const Recipe& recipe, std::shared_ptr<const reader::Dataset> dataset)
      : augment_(letterbox(recipe)),
        dataset_(std::move(dataset)),
        reader_(*dataset_),
        found_(objects_of(*dataset_).classes.size()) {}

  void add(const at::Tensor& outputs, const DeviceBatch& batch) override {
    std::vector<std::vector<Detection>> found = find_objects(outputs);
    for (std::size_t i = 0; i < found.size(); ++i) add_picture(batch.samples.at(i), found[i]);
  }

  void join(const Processes& processes) override {
    if (processes.size() == 1) return;
    DetectionScores all(objects_of(*dataset_).classes.size());
    for (const std::vector<std::byte>& part : processes.gather(found_.serialise())) all.merge(part);
    found_ = std::move(all);
  }

  Scores scores() const override {
    const auto whole = std::make_shared<const DetectionReport>(found_.report());
    const DetectionReport& report = *whole;
    const auto of = [](const DetectionReport::Score& score) {
      return score.value_or(std::numeric_limits<double>::quiet_NaN());
    };
    return {.task = TaskKind::kDetect,
            .images = report.images,
            .values = {of(report.ap), of(report.ap50), of(report.ap75), of(report.ap_small),
                       of(report.ap_medium), of(report.ap_large), of(report.recall1),
                       of(report.recall10), of(report.recall100)},
            .detection = whole};
  }

 private:
  void add_picture(std::uint64_t sample, std::vector<Detection>& found) {
    ImageInfo info = dataset_->image(sample);
    if (info.width == 0) info = decoder_.header(dataset_->view(sample, bytes_));
    const bool swap = info.orientation >= 5;
    const auto width = static_cast<int>(swap ? info.height : info.width);
    const auto height = static_cast<int>(swap ? info.width : info.height);
    const reader::PicturePlan plan =
        reader::plan_picture(augment_, {0, 0, sample}, 0, width, height, {});
    for (Detection& one : found) one.box = in_picture(one.box, plan.placement, width, height);
    const Objects objects = reader::upright(reader_.read(sample, info, bytes_).objects, info);
    std::vector<TrueObject> truth;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const Box& box = objects.boxes[i];
      const PlainBox plain = {box.left, box.top, double(box.right) - double(box.left),
                              double(box.bottom) - double(box.top)};
      truth.push_back({.box = plain,
                       .label = objects.labels[i],
                       .area = objects.areas.empty() ? plain.area() : objects.areas[i],
                       .crowd = (objects.flags[i] & kCrowd) != 0});
    }
    found_.add(sample, truth, found);
  }

  reader::DetectionAugment augment_;
  std::shared_ptr<const reader::Dataset> dataset_;
  reader::TargetsReader reader_;
  reader::Decoder decoder_;
  DetectionScores found_;
  std::vector<std::byte> bytes_;
};

class Detect final : public Task {
 public:
  explicit Detect(const Recipe& recipe) : recipe_(recipe) {
    if (recipe.image_size % kMultiple != 0)
      throw Error(ErrorKind::kUsage,
                  fmt::format("a detector takes no pictures of {} pixels", recipe.image_size), {},
                  fmt::format("use an --image-size that is a multiple of {}", kMultiple));
  }

  const std::vector<std::string>& classes(const reader::Dataset& dataset) const override {
    return objects_of(dataset).classes;
  }

  void read_for_training(reader::LoaderOptions& options) const override {
    reader::DetectionAugment augment = letterbox(recipe_);
    if (recipe_.augment != AugmentKind::kNone) augment.flip = 0.5;
    if (recipe_.augment == AugmentKind::kAffine)
      augment.affine = {
          .degrees = 10, .translate = 0.1, .min_scale = 0.5, .max_scale = 1.5, .shear = 2};
    augment.mosaic.probability = recipe_.mosaic;
    augment.copy_paste.probability = recipe_.copy_paste;
    if (recipe_.mixup_alpha > 0) augment.mixup = {.probability = 1, .alpha = recipe_.mixup_alpha};
    const bool several = recipe_.mosaic > 0 || recipe_.copy_paste > 0 || recipe_.mixup_alpha > 0;
    if (several && closes()) options.close_mosaic_from = first_closed();
    options.augment = augment;
    options.pixels = pixel_augment(recipe_);
    options.targets = reader::TargetRules{};
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
    const bool with_offsets = closes() && batch.after.epoch >= first_closed();
    return yolox_loss(predictions, truth, anchor_points(size, size, x.device()), with_offsets)
        .total;
  }

  bool is_graphable() const override { return false; }

  std::unique_ptr<Scorer> scorer(std::shared_ptr<const reader::Dataset> dataset) const override {
    return std::make_unique<ObjectScorer>(recipe_, std::move(dataset));
  }

 private:
  bool closes() const { return recipe_.close_mosaic > 0; }
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
