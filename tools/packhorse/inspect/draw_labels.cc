#include <array>

#include "drawing/draw_objects.h"
#include "inspect/tile.h"
#include "targets/pixel_map.h"

namespace packhorse::inspect {

using drawing::class_colour;
using drawing::Colour;

namespace {

std::uint8_t tinted(std::uint8_t level, std::uint8_t colour) {
  return static_cast<std::uint8_t>((level + colour) / 2);
}

}  // namespace

void draw_labels(cv::Mat& picture, const LabelImage& mask, const ImageInfo& image,
                 std::uint8_t ignored, std::set<std::size_t>& seen) {
  const PixelMap upright = upright_map(image);
  const LabelImage turned = map_labels(mask, upright, ignored);
  std::array<bool, 256> found{};
  for (int y = 0; y < picture.rows; ++y) {
    auto* const row = picture.ptr<cv::Vec3b>(y);
    const auto line = static_cast<std::uint32_t>((2 * y + 1) * std::int64_t{turned.height} /
                                                 (2 * std::int64_t{picture.rows}));
    for (int x = 0; x < picture.cols; ++x) {
      const auto column = static_cast<std::uint32_t>((2 * x + 1) * std::int64_t{turned.width} /
                                                     (2 * std::int64_t{picture.cols}));
      const std::uint8_t label = turned.at(column, line);
      if (label == ignored) continue;
      found[label] = true;
      const Colour colour = class_colour(label);
      cv::Vec3b& pixel = row[x];
      pixel = {tinted(pixel[0], colour.blue), tinted(pixel[1], colour.green),
               tinted(pixel[2], colour.red)};
    }
  }
  for (std::size_t label = 0; label < found.size(); ++label)
    if (found[label]) seen.insert(label);
}

}  // namespace packhorse::inspect
