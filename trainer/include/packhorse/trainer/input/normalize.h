#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace packhorse::trainer {

/// Mean and std of each channel, of pixel values scaled to 0..1.
struct Normalization {
  std::vector<double> mean = {0.485, 0.456, 0.406};  ///< ImageNet's, torchvision's default
  std::vector<double> stddev = {0.229, 0.224, 0.225};
};

/// y = (x / 255 - mean) / stddev, where x is uint8 [B, H, W, 3] contiguous on any device, and y is
/// [B, 3, H, W] in channels_last order, of `dtype` (float32, float16 or bfloat16). The memory order
/// stays, so each byte is read once. Runs on the current stream of a GPU. Where x is float, of any
/// number of channels, y = (x - mean) / stddev.
at::Tensor normalize(const at::Tensor& images, const Normalization& normalization,
                     at::ScalarType dtype = at::kFloat);

}  // namespace packhorse::trainer
