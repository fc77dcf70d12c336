#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

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

}  // namespace packhorse::trainer
