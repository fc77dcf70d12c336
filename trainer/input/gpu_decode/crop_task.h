#pragma once

#include "input/gpu_decode/crop_math.h"
#include "packhorse/reader/augment.h"

namespace packhorse::trainer {

/// Makes the task that applies `plan` to the picture at `picture`, with rows of `stride` bytes, and
/// writes to `out`.
inline CropTask crop_task(const reader::CropPlan& plan, const std::uint8_t* picture, int stride,
                          std::uint8_t* out) {
  return {.picture = picture,
          .out = out,
          .stride = stride,
          .x = plan.x,
          .y = plan.y,
          .w = plan.w,
          .h = plan.h,
          .scaled_w = plan.scaled_w,
          .scaled_h = plan.scaled_h,
          .left = plan.left,
          .top = plan.top,
          .flip = plan.flip ? 1 : 0};
}

}  // namespace packhorse::trainer
