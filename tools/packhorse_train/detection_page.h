#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "packhorse/analysis/detection_scores.h"
#include "packhorse/image/image_info.h"
#include "packhorse/reader/dataset.h"
#include "packhorse/trainer/recipe/scores.h"
#include "tasks/task.h"

namespace packhorse::trainer {

/// Keeps the pictures of a dataset in which a detector makes most mistakes: objects that are
/// missed, and detections of at least kSure where nothing is.
class WorstPictures {
 public:
  static constexpr double kSure = 0.25;
  struct Picture {
    SeenPicture seen;  ///< the sure detections
    Mistakes mistakes;
  };

  explicit WorstPictures(std::size_t most) : most_(most) {}
  void add(const SeenPicture& picture);
  /// The worst first; of equal ones, the earlier. None without a mistake.
  const std::vector<Picture>& pictures() const { return pictures_; }

 private:
  std::size_t most_;
  std::vector<Picture> pictures_;
};

struct DetectionPage {
  std::string title;
  Scores scores;
  std::vector<std::string> classes;
  const reader::Dataset& dataset;
  const std::vector<WorstPictures::Picture>& worst;
  ImageLimits limits = {};
};

/// A page of HTML that needs no other files: the scores, those of each class, curves of precision
/// over recall, and the worst pictures with what is in them and what was found.
std::string detection_page(const DetectionPage& page);

}  // namespace packhorse::trainer
