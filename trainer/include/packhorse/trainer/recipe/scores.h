#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "packhorse/analysis/detection_scores.h"
#include "packhorse/image/image_info.h"
#include "packhorse/trainer/recipe/recipe.h"

/// What a model is worth on a dataset.
namespace packhorse::trainer {

/// A figure that scoring a task gives.
struct ScoreName {
  std::string_view key;    ///< in JSON and logs: "top1"
  std::string_view title;  ///< for people: "top-1"
  std::string_view help;   ///< what it is, a sentence
  bool percent = false;    ///< rather than a share of 1, or a loss
};

/// The figures of a task. The first, the higher the better, says which epoch is best.
std::span<const ScoreName> score_names(TaskKind task);

/// The key in the lines of a log, which also have the training's loss: "val_loss", "top1".
std::string log_key(const ScoreName& name);

struct Scores {
  TaskKind task = TaskKind::kClassify;
  std::uint64_t images = 0;
  std::vector<double> values = {};  ///< one for each of score_names(task); NaN: not defined
  /// Of objects, class by class; not kept in checkpoints.
  std::shared_ptr<const DetectionReport> detection = {};

  /// By its key. Throws Error(kUsage) when there is none.
  double at(std::string_view key) const;
  double best() const { return values.at(0); }
};

/// What a detector found in a picture, in pixels of the upright one.
struct SeenPicture {
  std::uint64_t sample = 0;                ///< of its dataset
  ImageInfo info = {};                     ///< of the stored picture
  int width = 0, height = 0;               ///< upright
  std::vector<Detection> detections = {};  ///< the best-scoring first
  std::vector<TrueObject> objects = {};    ///< that are in it; none unless it is scored
};
using PictureObserver = std::function<void(const SeenPicture&)>;

/// "top-1 93.10 %, top-5 99.80 %, loss 0.2345": the first `most` figures.
std::string to_text(const Scores& scores, std::size_t most = 3);

}  // namespace packhorse::trainer
