#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "packhorse/trainer/parallel/processes.h"
#include "packhorse/trainer/train/evaluate.h"
#include "tasks/task.h"
#include "train/engine.h"

namespace packhorse::trainer {

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
