#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>

#include "packhorse/image/image_info.h"
#include "packhorse/reader/dataset.h"
#include "packhorse/trainer/parallel/processes.h"
#include "packhorse/trainer/train/model_file.h"
#include "train/engine.h"
#include "train/run_state.h"

namespace packhorse::trainer {

struct EvaluateOptions {
  ModelFile model;
  std::filesystem::path data;
  std::string split;  ///< empty: "val" or "test" where there are splits
  Device device;
  int workers = -1;
  std::optional<std::int64_t> batch_size = {};  ///< pictures at once; none: as many as in training
  ImageLimits limits = {};                      ///< of images that are decoded
  PictureObserver observer = {};                ///< see ScorerOptions
};

struct EvaluateResult {
  RunState state;  ///< from the checkpoint; for weights only the recipe and the classes
  Scores scores;
  std::shared_ptr<const reader::Dataset> dataset;
};

/// Scores a checkpoint with the picture size and cropping it was trained for, which reproduces
/// fit's figure. Throws Error(kUsage) when the dataset's classes are not the model's. Weights
/// without a checkpoint around them are scored with the arch's picture size and cropping. Their
/// classes must be the dataset's, in its order; only their number can be checked.
EvaluateResult evaluate(const EvaluateOptions& options, std::stop_token stop = {});

/// The name of the split to evaluate on, or "" when `data` has no splits or none for evaluation.
std::string find_val_split(const std::filesystem::path& data);

/// How the scored pictures are read, beside what the recipe says.
struct ScoreOptions {
  Device device;
  int workers = -1;
  std::optional<std::int64_t> batch_size = {};  ///< pictures at once; none: as many as in training
  ImageLimits limits = {};
  PictureObserver observer = {};  ///< see ScorerOptions
};

/// Scores `engine` on `dataset`: each process scores its share, and all get the scores of the
/// whole. Throws Error(kInterrupted) in all processes when `stop` is requested in one.
Scores score(Engine& engine, const Recipe& recipe, const ScoreOptions& how,
             const std::shared_ptr<const reader::Dataset>& dataset, const Processes& processes,
             std::stop_token stop);

/// Class names as checkpoints hold them, in UTF-8: those that are not are written as printable()
/// writes them.
std::vector<std::string> as_utf8(std::vector<std::string> names);
/// The dataset's class names, as_utf8().
std::vector<std::string> class_texts(const Task& task, const reader::Dataset& dataset);
/// The first of them that is not the same, in words.
std::string difference_of_classes(const std::vector<std::string>& model,
                                  const std::vector<std::string>& data);
/// Throws Error(kUsage) unless the dataset's class_texts() are `classes`, in that order.
void check_classes(const std::vector<std::string>& classes, const Task& task,
                   const reader::Dataset& dataset, const std::filesystem::path& path);

}  // namespace packhorse::trainer
