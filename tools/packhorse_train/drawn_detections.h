#pragma once

#include <opencv2/core.hpp>
#include <span>
#include <string>
#include <vector>

#include "packhorse/reader/dataset.h"
#include "packhorse/reader/decode.h"
#include "tasks/task.h"

namespace packhorse::trainer {

/// The upright picture, BGR. Throws what reading and decoding throw.
cv::Mat decoded_picture(const reader::Dataset& dataset, const SeenPicture& picture,
                        reader::Decoder& decoder);

/// Draws boxes with names and scores over an upright picture.
void draw_detections(cv::Mat& picture, std::span<const Detection> detections,
                     const std::vector<std::string>& classes);
/// The same for what is in the picture.
void draw_truth(cv::Mat& picture, std::span<const TrueObject> objects,
                const std::vector<std::string>& classes);

}  // namespace packhorse::trainer
