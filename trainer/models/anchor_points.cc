#include "models/anchor_points.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <array>
#include <limits>
#include <vector>

#include "packhorse/base/error.h"

namespace packhorse::trainer {

namespace {

constexpr std::array<std::int64_t, 3> kStrides = {8, 16, 32};

}  // namespace

AnchorPoints anchor_points(std::int64_t height, std::int64_t width, const at::Device& device) {
  if (height < 1 || width < 1 || height % kStrides.back() != 0 || width % kStrides.back() != 0)
    throw Error(ErrorKind::kUsage,
                fmt::format("a detector takes no pictures of {} x {} pixels", width, height), {},
                fmt::format("use a size that is a multiple of {}", kStrides.back()));
  const at::TensorOptions options = at::TensorOptions(device).dtype(at::kFloat);
  std::vector<at::Tensor> x, y, strides;
  for (const std::int64_t stride : kStrides) {
    const std::int64_t rows = height / stride, columns = width / stride;
    const auto middles = [&](std::int64_t count) {
      return (at::arange(count, options) + 0.5) * stride;
    };
    x.push_back(middles(columns).unsqueeze(0).expand({rows, columns}).reshape(-1));
    y.push_back(middles(rows).unsqueeze(1).expand({rows, columns}).reshape(-1));
    strides.push_back(at::full({rows * columns}, static_cast<double>(stride), options));
  }
  return {at::cat(x), at::cat(y), at::cat(strides)};
}

at::Tensor decoded(const at::Tensor& raw, const AnchorPoints& points) {
  const at::Tensor& stride = points.stride;
  const std::vector<at::Tensor> box = {
      (raw.select(2, 0) - 0.5) * stride + points.x, (raw.select(2, 1) - 0.5) * stride + points.y,
      raw.select(2, 2).exp() * stride, raw.select(2, 3).exp() * stride};
  return at::cat({at::stack(box, 2), raw.narrow(2, 4, raw.size(2) - 4)}, 2);
}

namespace {

constexpr int kFinest = 3, kCoarsest = 7;  // cells of 2^level pixels, where the picture has as many

/// Cells along a side of `pixels`: each halving rounds up.
std::int64_t cells(std::int64_t pixels, int level) {
  for (int i = 0; i < level; ++i) pixels = (pixels + 1) / 2;
  return pixels;
}

}  // namespace

FcosPoints fcos_points(std::int64_t height, std::int64_t width, const at::Device& device) {
  const at::TensorOptions options = at::TensorOptions(device).dtype(at::kFloat);
  std::vector<at::Tensor> x, y, size, least, most;
  for (int level = kFinest; level <= kCoarsest; ++level) {
    const std::int64_t rows = cells(height, level), columns = cells(width, level);
    const auto corners = [&](std::int64_t count, std::int64_t side) {
      return at::arange(count, options) * (side / count);
    };
    const auto all = [&](double value) { return at::full({rows * columns}, value, options); };
    x.push_back(corners(columns, width).unsqueeze(0).expand({rows, columns}).reshape(-1));
    y.push_back(corners(rows, height).unsqueeze(1).expand({rows, columns}).reshape(-1));
    const double pixels = 1 << level;
    size.push_back(all(pixels));
    least.push_back(all(level == kFinest ? 0 : 4 * pixels));
    most.push_back(all(level == kCoarsest ? std::numeric_limits<double>::infinity() : 8 * pixels));
  }
  return {at::cat(x), at::cat(y), at::cat(size), at::cat(least), at::cat(most)};
}

std::vector<std::int64_t> fcos_level_sizes(std::int64_t height, std::int64_t width) {
  std::vector<std::int64_t> sizes;
  for (int level = kFinest; level <= kCoarsest; ++level)
    sizes.push_back(cells(height, level) * cells(width, level));
  return sizes;
}

}  // namespace packhorse::trainer
