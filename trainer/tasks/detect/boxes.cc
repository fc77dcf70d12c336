#include "tasks/detect/boxes.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/max.h>
#include <ATen/ops/min.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace packhorse::trainer {

at::Tensor overlaps_of(const at::Tensor& a, const at::Tensor& b) {
  const auto shared = [&](std::int64_t axis) {
    const auto edge = [&](const at::Tensor& box, double side) {
      return box.select(-1, axis) + side * box.select(-1, axis + 2);
    };
    return (at::min(edge(a, 0.5), edge(b, 0.5)) - at::max(edge(a, -0.5), edge(b, -0.5)))
        .clamp_min(0);
  };
  const auto area = [](const at::Tensor& box) { return box.select(-1, 2) * box.select(-1, 3); };
  const at::Tensor both = shared(0) * shared(1);
  return both / (area(a) + area(b) - both + 1e-16);
}

at::Tensor suppress_overlaps(const at::Tensor& corners, const at::Tensor& scores,
                             const at::Tensor& labels, double threshold, std::int64_t most) {
  const auto order = std::get<1>(scores.sort(/*stable=*/true, 0, /*descending=*/true)).contiguous();
  const auto box_data = corners.to(at::kFloat).contiguous();
  const auto label_data = labels.contiguous();
  const float* const box = box_data.const_data_ptr<float>();
  const auto* const label = label_data.const_data_ptr<std::int64_t>();
  const auto area = [&](std::int64_t i) {
    const float* const at = box + 4 * i;
    return (at[2] - at[0]) * (at[3] - at[1]);
  };
  const auto overlap = [&](std::int64_t i, std::int64_t j) {
    const float *const a = box + 4 * i, *const b = box + 4 * j;
    const float width = std::max(0.F, std::min(a[2], b[2]) - std::max(a[0], b[0]));
    const float height = std::max(0.F, std::min(a[3], b[3]) - std::max(a[1], b[1]));
    const float both = width * height;
    return static_cast<double>(both / (area(i) + area(j) - both));
  };
  std::unordered_map<std::int64_t, std::vector<std::int64_t>> kept_of;
  std::vector<std::int64_t> kept;
  for (std::int64_t place = 0; place < order.size(0); ++place) {
    if (static_cast<std::int64_t>(kept.size()) >= most) break;
    const std::int64_t i = order.const_data_ptr<std::int64_t>()[place];
    std::vector<std::int64_t>& rivals = kept_of[label[i]];
    if (std::ranges::any_of(rivals, [&](std::int64_t j) { return overlap(j, i) > threshold; }))
      continue;
    rivals.push_back(i);
    kept.push_back(i);
  }
  return at::tensor(kept, at::kLong);
}

}  // namespace packhorse::trainer
