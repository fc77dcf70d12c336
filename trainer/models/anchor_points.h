#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace packhorse::trainer {

/// The places at which YOLOX looks for objects: the middles of cells of 8, 16 and 32 pixels.
struct AnchorPoints {
  at::Tensor x, y;    ///< float [A], pixels
  at::Tensor stride;  ///< float [A], pixels
};

/// Throws Error(kUsage) for sides that are no multiples of 32.
AnchorPoints anchor_points(std::int64_t height, std::int64_t width, const at::Device& device);

/// `raw` [B, A, 5 + ...] with its boxes as pixels: raw ones are relative to the cell's corner, in
/// cells, and the sides' logarithms.
at::Tensor decoded(const at::Tensor& raw, const AnchorPoints& points);

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
