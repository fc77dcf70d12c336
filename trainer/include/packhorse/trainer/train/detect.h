#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "packhorse/image/image_info.h"
#include "packhorse/reader/bad_samples.h"
#include "packhorse/reader/dataset.h"
#include "packhorse/trainer/device/device.h"
#include "packhorse/trainer/recipe/recipe.h"
#include "packhorse/trainer/recipe/scores.h"
#include "packhorse/trainer/train/model_file.h"

namespace packhorse::trainer {

struct DetectorOptions {
  ModelFile model;
  std::vector<std::string> classes;  ///< for weights: the names, in the order of their outputs
  Device device;
  int workers = -1;
  std::int64_t batch_size = 8;  ///< pictures at once
  ImageLimits limits = {};      ///< of images that are decoded
  double min_score = 0.25;      ///< of reported detections
  std::optional<double> overlap =
      {};                   ///< with a better-scoring one of the class, at most; the network's
  std::int64_t most = 300;  ///< of an image, the best-scoring
  /// What to do with damaged pictures; kReplace is kLeaveOut here. The limit is that of one run().
  reader::BadSampleOptions bad_samples = {};
};

/// A trained detector, to be used on any pictures.
///
///     ObjectDetector detector({.model = {.checkpoint = "run/best.pt"}});
///     detector.run(reader::Dataset::of_files({"a.jpg"}), [](const SeenPicture& picture) { ... });
///
/// One thread at a time.
class ObjectDetector {
 public:
  /// Throws Error(kUsage) for a network that finds no objects, and what reading weights throws.
  explicit ObjectDetector(DetectorOptions options);
  ~ObjectDetector();
  ObjectDetector(const ObjectDetector&) = delete;
  ObjectDetector& operator=(const ObjectDetector&) = delete;

  const std::vector<std::string>& classes() const;  ///< by label, in UTF-8
  const Recipe& recipe() const;

  /// Calls `observer` for each picture of `dataset`, in its order. The dataset's targets are not
  /// read. Returns the pictures that were left out, by their numbers: no more than
  /// BadSampleLog::kMostNamed. Throws Error(kInterrupted) when `stop` is requested, and what
  /// reading and decoding throw.
  std::vector<reader::BadSample> run(const std::shared_ptr<const reader::Dataset>& dataset,
                                     const PictureObserver& observer,
                                     const std::stop_token& stop = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace packhorse::trainer
