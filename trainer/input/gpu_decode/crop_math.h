#pragma once

#include <cstdint>

#include "input/on_both.h"

/// Computes a pixel of a sample from a decoded picture, for the GPU and for tests on the CPU.
namespace packhorse::trainer {

/// A reader::CropPlan applied to a picture in memory: RGB, 8 bit, interleaved.
struct CropTask {
  const std::uint8_t* picture;  ///< its first row
  std::uint8_t* out;            ///< size x size x 3
  int stride;                   ///< bytes from row to row
  int x, y, w, h, scaled_w, scaled_h, left, top;
  int flip;
};

/// The source positions that one output position uses along one axis: a triangle two output pixels
/// wide, or two source pixels when enlarging (Pillow's and torchvision's antialiased bilinear).
struct Reach {
  int begin, end;
  float centre, inverse;

  PACKHORSE_ON_BOTH Reach(int length, int scaled, int at) {
    const float scale = static_cast<float>(length) / static_cast<float>(scaled);
    const float support = scale > 1 ? scale : 1;
    centre = (static_cast<float>(at) + 0.5F) * scale;
    inverse = 1 / support;
    const int low = static_cast<int>(centre - support + 0.5F);
    const int high = static_cast<int>(centre + support + 0.5F);
    begin = low > 0 ? low : 0;
    end = high < length ? high : length;
  }
  PACKHORSE_ON_BOTH float weight(int position) const {
    const float distance = (static_cast<float>(position) + 0.5F - centre) * inverse;
    const float fallen = 1 - (distance < 0 ? -distance : distance);
    return fallen > 0 ? fallen : 0;
  }
};

/// Writes the pixel in column `px` and row `py` of a sample of size x size.
PACKHORSE_ON_BOTH inline void make_pixel(const CropTask& task, int size, int px, int py) {
  std::uint8_t* const out = task.out + (static_cast<long>(py) * size + px) * 3;
  const int column = task.left + (task.flip ? size - 1 - px : px), row = task.top + py;
  float sum[3] = {0, 0, 0}, total = 0;
  if (column >= 0 && column < task.scaled_w && row >= 0 && row < task.scaled_h) {
    const Reach across(task.w, task.scaled_w, column), down(task.h, task.scaled_h, row);
    for (int y = down.begin; y < down.end; ++y) {
      const std::uint8_t* const line =
          task.picture + static_cast<long>(task.y + y) * task.stride + 3L * task.x;
      const float row_weight = down.weight(y);
      for (int x = across.begin; x < across.end; ++x) {
        const float weight = row_weight * across.weight(x);
        total += weight;
        for (int c = 0; c < 3; ++c) sum[c] += weight * static_cast<float>(line[3 * x + c]);
      }
    }
  }
  for (int c = 0; c < 3; ++c)
    out[c] = total > 0 ? static_cast<std::uint8_t>(sum[c] / total + 0.5F) : std::uint8_t{0};
}

}  // namespace packhorse::trainer
