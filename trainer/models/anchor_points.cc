#include "models/anchor_points.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <array>
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

}  // namespace packhorse::trainer
