#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "packhorse/analysis/detection_scores.h"
#include "packhorse/image/image_info.h"
#include "packhorse/reader/dataset.h"
#include "packhorse/reader/loader.h"
#include "packhorse/trainer/recipe/scores.h"

namespace packhorse::trainer {

struct DeviceBatch;
class Model;
class Processes;

/// The position of a batch in the run.
struct StepPlace {
  std::int64_t step = 0;  ///< the optimiser's step, in the whole run
  std::int64_t part = 0;  ///< index among the parts of the step; see Recipe::accumulate
  double lr = 0;
};

struct ScorerOptions {
  PictureObserver observer = {};  ///< called for each image, if the task finds objects
  ImageLimits limits = {};        ///< of images whose headers are read
};

/// Collects a model's outputs for the images of a dataset. One thread.
class Scorer {
 public:
  virtual ~Scorer() = default;
  /// `outputs`: float, on the batch's device, what the model gives in evaluation.
  virtual void add(const at::Tensor& outputs, const DeviceBatch& batch) = 0;
  /// Takes in what the other processes have; then all have the same.
  virtual void join(const Processes& processes) = 0;
  virtual Scores scores() const = 0;
};

/// What a network is trained for, by the recipe: what is read of the samples, which loss is
/// minimised, how results are scored. A new task is a folder beside this file and a name in
/// make_task().
class Task {
 public:
  virtual ~Task() = default;

  /// The names of the model's classes. Throws Error(kUsage) for a dataset that lacks what the task
  /// needs.
  virtual const std::vector<std::string>& classes(const reader::Dataset& dataset) const = 0;
  /// Throws Error(kUsage) where the recipe asks for what the data to train on does not have.
  virtual void check_training(const reader::Dataset&) const {}
  /// Sets what is made of the samples to train on, and to score: the picture, and its targets.
  virtual void read_for_training(reader::LoaderOptions& options) const = 0;
  virtual void read_for_scoring(reader::LoaderOptions& options) const = 0;

  /// The loss, a scalar, from the normalised `images`, float or half [B, 3, H, W], and the batch's
  /// targets. Depends on the recipe, the place and LibTorch's default generator alone. Called under
  /// autocast where the recipe asks for it.
  virtual at::Tensor loss(Model& model, const at::Tensor& images, const DeviceBatch& batch,
                          const StepPlace& place) const = 0;
  /// Whether a step does the same work for every batch, so that a CUDA graph can replay it.
  virtual bool is_graphable() const = 0;

  /// Gives a batch of synthetic images the targets that training needs besides a label: a usual
  /// number, of `classes` classes.
  virtual void add_made_targets(DeviceBatch& batch, std::int64_t classes) const = 0;

  virtual std::unique_ptr<Scorer> scorer(std::shared_ptr<const reader::Dataset> dataset,
                                         ScorerOptions options = {}) const = 0;
};

/// recipe.task's. Throws Error(kUsage) for a recipe that makes no sense to it.
std::unique_ptr<const Task> make_task(const Recipe& recipe);

/// One class a picture: cross entropy, with label smoothing, Mixup and CutMix; top-1 and top-5.
std::unique_ptr<const Task> make_classify(const Recipe& recipe);

/// Boxes around the objects in a picture: YOLOX's losses, in several scales; COCO's average
/// precision. Pictures are fitted into squares (letterbox). Crowds are neither trained on nor
/// counted for or against; a picture without objects teaches that there is nothing.
std::unique_ptr<const Task> make_detect(const Recipe& recipe);

/// Several classes a picture, or none: binary cross entropy of each class, also with Mixup, CutMix
/// and targets between 0 and 1; mean average precision.
std::unique_ptr<const Task> make_multilabel(const Recipe& recipe);

}  // namespace packhorse::trainer
