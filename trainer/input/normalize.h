#pragma once

#include <ATen/core/Tensor.h>

#include "packhorse/trainer/models/models.h"

namespace packhorse::trainer {

/// y = (x / 255 - mean) / stddev, where x is uint8 [B, H, W, 3] contiguous on any device, and y is
/// [B, 3, H, W] in channels_last order, of `dtype` (float32, float16 or bfloat16). The memory order
/// stays, so each byte is read once. Runs on the current stream of a GPU. Where x is float, of any
/// number of channels, y = (x - mean) / stddev.
at::Tensor normalize(const at::Tensor& images, const Normalization& normalization,
                     at::ScalarType dtype = at::kFloat);

}  // namespace packhorse::trainer
