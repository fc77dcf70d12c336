#pragma once

#include <opencv2/core.hpp>

#include "packhorse/targets/objects.h"
#include "targets/pixel_map.h"

namespace packhorse::drawing {

/// The pixels of a picture that belong to an object. Reuses its memory from object to object.
class ObjectMask {
 public:
  explicit ObjectMask(cv::Size picture) : inside_(cv::Mat::zeros(picture, CV_8U)) {}

  /// Takes the polygons of object i, which are in the picture's pixels. False when it has none.
  bool set_polygons(const Objects& placed, std::size_t i);
  /// Takes the run lengths of object i in the stored image, of which `map` made the picture: each
  /// pixel of it is as the image is at its centre. False when there are none. Throws
  /// Error(kCorrupt) unless they are those of an image of `size`.
  bool set_runs(const Objects& stored, std::size_t i, const PixelMap& map, MaskSize size);

  /// Mixes `colour` into the pixels; `hatched`: into every other stripe of them.
  void fill(cv::Mat& picture, const cv::Scalar& colour, bool hatched) const;
  void outline(cv::Mat& picture, const cv::Scalar& colour, int line);

 private:
  void clear();
  cv::Mat inside_;  ///< 255 or 0
  cv::Rect seen_;   ///< the part that may hold 255
};

}  // namespace packhorse::drawing
