#include "drawn_detections.h"

#include <fmt/format.h>

#include <functional>
#include <opencv2/imgproc.hpp>

#include "drawing/draw_objects.h"
#include "packhorse/base/error.h"

namespace packhorse::trainer {

namespace {

void add_to(Objects& objects, const PlainBox& box, std::int64_t label, bool crowd) {
  objects.boxes.push_back({static_cast<float>(box.x), static_cast<float>(box.y),
                           static_cast<float>(box.x + box.width),
                           static_cast<float>(box.y + box.height)});
  objects.labels.push_back(static_cast<std::int32_t>(label));
  objects.flags.push_back(crowd ? kCrowd : 0);
}

void draw(cv::Mat& picture, const Objects& objects,
          const std::function<std::string(std::size_t)>& name_of) {
  const ImageInfo upright{.width = static_cast<std::uint32_t>(picture.cols),
                          .height = static_cast<std::uint32_t>(picture.rows)};
  drawing::draw_objects(picture, objects, upright, name_of);
}

}  // namespace

cv::Mat decoded_picture(const reader::Dataset& dataset, const SeenPicture& picture,
                        reader::Decoder& decoder) {
  std::vector<std::byte> bytes;
  std::vector<std::uint8_t> pixels;
  int width = 0, height = 0;
  try {
    const BytesLease file = dataset.view(picture.sample, bytes);
    decoder.decode_full(file.bytes, pixels, width, height, picture.info);
  } catch (const Error& error) {
    throw error_at(dataset, picture.sample, error);
  }
  const cv::Mat rgb(height, width, CV_8UC3, pixels.data());
  cv::Mat drawn;
  cv::cvtColor(rgb, drawn, cv::COLOR_RGB2BGR);
  return drawn;
}

void draw_detections(cv::Mat& picture, std::span<const Detection> detections,
                     const std::vector<std::string>& classes) {
  Objects objects;
  for (const Detection& one : detections) add_to(objects, one.box, one.label, false);
  draw(picture, objects, [&](std::size_t i) {
    const Detection& one = detections[i];
    return fmt::format("{} {:.2f}", classes.at(static_cast<std::size_t>(one.label)), one.score);
  });
}

void draw_truth(cv::Mat& picture, std::span<const TrueObject> truth,
                const std::vector<std::string>& classes) {
  Objects objects;
  for (const TrueObject& one : truth) add_to(objects, one.box, one.label, one.crowd);
  draw(picture, objects,
       [&](std::size_t i) { return classes.at(static_cast<std::size_t>(truth[i].label)); });
}

}  // namespace packhorse::trainer
