#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace packhorse::trainer {

/// The places at which FCOS looks for objects, as torchvision has them: on five levels, the finest
/// first, row after row, at the corners of cells that share the picture evenly.
struct FcosPoints {
  at::Tensor x, y;         ///< float [A], pixels
  at::Tensor size;         ///< float [A], pixels: what the sides of boxes are relative to; 8 to 128
  at::Tensor least, most;  ///< float [A], pixels: how far an object's farthest edge may be
};
FcosPoints fcos_points(std::int64_t height, std::int64_t width, const at::Device& device);

/// How many places each level has.
std::vector<std::int64_t> fcos_level_sizes(std::int64_t height, std::int64_t width);

}  // namespace packhorse::trainer
