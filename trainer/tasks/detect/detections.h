#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "packhorse/analysis/detection_scores.h"
#include "packhorse/image/image_info.h"
#include "packhorse/reader/geometry.h"

namespace packhorse::trainer {

/// Which of a detector's predictions are detections.
struct DetectionRules {
  double min_score = 0.001;  ///< whether there is an object, times whether it is of the class
  double overlap = 0.65;     ///< with a surer one of the class, that a detection may have at most
  /// The surest of a picture, or of each level, that are looked at. YOLOX looks at all.
  std::int64_t candidates = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = 300;   ///< of a picture
  bool every_class = false;  ///< a place may be of several classes, not of the likeliest alone
  bool root = false;         ///< the score is the square root of that product
  std::vector<std::int64_t> levels = {};  ///< how many places each has; empty: there are none
  reader::ImageSize frame = {};           ///< boxes are cut at its edge first; 0 x 0: they are not
};

/// The detections in each picture, the surest first (of equal ones, the earlier place), in pixels
/// of the network's input. `outputs` float [B, A, 5 + classes], as detectors give them. What is no
/// finite number is no detection.
///
/// `places`: where each picture lies in the input; boxes that do not reach into it are none. Empty:
/// all are looked at.
std::vector<std::vector<Detection>> find_objects(const at::Tensor& outputs,
                                                 const DetectionRules& rules = {},
                                                 std::span<const reader::Rect> places = {});

/// Brings a box in pixels of the network's input back into the upright picture of width x height
/// that `placement` put there, and cuts it at the picture's edge.
PlainBox in_picture(const PlainBox& box, const reader::Placement& placement, int width, int height);

}  // namespace packhorse::trainer
