#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "packhorse/image/image_info.h"
#include "packhorse/reader/dataset.h"
#include "packhorse/trainer/device/device.h"
#include "packhorse/trainer/recipe/scores.h"
#include "packhorse/trainer/train/model_file.h"
#include "packhorse/trainer/watch/run_log.h"

namespace packhorse::trainer {

struct EvaluateOptions {
  ModelFile model;
  std::filesystem::path data;
  std::string split;  ///< empty: "val" or "test" where there are splits
  Device device;
  int workers = -1;
  std::optional<std::int64_t> batch_size = {};  ///< pictures at once; none: as many as in training
  ImageLimits limits = {};                      ///< of images that are decoded
  PictureObserver observer = {};                ///< called for each picture with objects
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

}  // namespace packhorse::trainer
