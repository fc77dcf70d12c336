#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/max.h>
#include <ATen/ops/min.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tasks/detect/boxes.h"
#include "tasks/detect/yolox_loss.h"

namespace packhorse::trainer {

namespace {

constexpr double kRadius = 1.5;     // cells around an object's middle
constexpr std::int64_t kMost = 10;  // overlaps that are summed, and so places of an object
constexpr double kBoxWeight = 3;    // of the box's cost beside the class's
constexpr double kFarAway = 1e6;    // cost of a place near another object's middle only
constexpr double kLeastLog = -100;  // as binary_cross_entropy() bounds logarithms
constexpr double kLeastOverlap = 1e-8;

/// [B, G, A]: the place lies less than 1.5 cells from the object's middle.
at::Tensor near_middles(const TrueBoxes& truth, const AnchorPoints& points) {
  const at::Tensor reach = points.stride * kRadius;
  const auto within = [&](std::int64_t axis, const at::Tensor& places) {
    return (truth.boxes.select(2, axis).unsqueeze(2) - places).abs() < reach;
  };
  return within(0, points.x) & within(1, points.y) & truth.real.unsqueeze(2);
}

/// [B, G, A]: binary cross entropy of all classes, if the place had the object's class.
at::Tensor class_costs(const at::Tensor& predictions, const TrueBoxes& truth) {
  const at::Tensor scores = (predictions.narrow(2, 5, predictions.size(2) - 5).sigmoid() *
                             predictions.narrow(2, 4, 1).sigmoid())
                                .sqrt();
  const at::Tensor yes = -scores.log().clamp_min(kLeastLog);
  const at::Tensor no = -(-scores).log1p().clamp_min(kLeastLog);
  const at::Tensor swap = yes - no;  // [B, A, C]
  const at::Tensor classes =
      truth.labels.unsqueeze(1).expand({swap.size(0), swap.size(1), truth.labels.size(1)});
  return (no.sum(2, /*keepdim=*/true) + swap.gather(2, classes)).transpose(1, 2);
}

Assignment assign_simota_part(const at::Tensor& predictions, const TrueBoxes& truth,
                              const AnchorPoints& points) {
  const at::Tensor boxes = predictions.narrow(2, 0, 4);
  if (truth.boxes.size(1) == 0) {
    const auto shape = {predictions.size(0), predictions.size(1)};
    return {at::full(shape, -1, predictions.options().dtype(at::kLong)),
            at::full(shape, 0.0, predictions.options())};
  }
  const at::Tensor near = near_middles(truth, points);
  const at::Tensor candidate = near.any(1, /*keepdim=*/true) & truth.real.unsqueeze(2);
  const at::Tensor overlaps =
      at::where(candidate, overlaps_of(truth.boxes.unsqueeze(2), boxes.unsqueeze(1)), 0.0);

  at::Tensor costs = class_costs(predictions, truth) -
                     kBoxWeight * (overlaps + kLeastOverlap).log() + kFarAway * near.logical_not();
  costs = at::where(candidate, costs, std::numeric_limits<double>::infinity());

  const std::int64_t most = std::min(kMost, overlaps.size(2));
  const at::Tensor wanted =
      std::get<0>(overlaps.topk(most, 2)).sum(2, /*keepdim=*/true).floor().clamp_min(1);
  const auto [cheapest, places] = costs.topk(most, 2, /*largest=*/false, /*sorted=*/true);
  const at::Tensor taken = (at::arange(most, wanted.options()) < wanted) & cheapest.isfinite();
  at::Tensor matches = at::zeros_like(candidate).scatter(2, places, taken);  // [B, G, A]

  // Of the objects that want a place, the cheapest of all has it.
  const at::Tensor several = matches.sum(1, /*keepdim=*/true) > 1;
  const at::Tensor cheapest_object = costs.argmin(1, /*keepdim=*/true);
  const at::Tensor numbers =
      at::arange(costs.size(1), cheapest_object.options()).unsqueeze(0).unsqueeze(2);
  matches = at::where(several, numbers == cheapest_object, matches);

  const at::Tensor found = matches.any(1);
  const at::Tensor object = matches.to(at::kByte).argmax(1);
  return {at::where(found, object, -1), (overlaps * matches).sum(1)};
}

}  // namespace

Assignment assign_simota(const at::Tensor& predictions, const TrueBoxes& truth,
                         const AnchorPoints& points, std::int64_t most_pairs) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> objects, overlaps;
  std::int64_t first = 0;
  for (const TrueBoxes& part : parts_of(truth, predictions.size(1), most_pairs)) {
    const auto pictures = static_cast<std::int64_t>(part.counts.size());
    Assignment assigned = assign_simota_part(predictions.narrow(0, first, pictures), part, points);
    objects.push_back(std::move(assigned.object));
    overlaps.push_back(std::move(assigned.overlap));
    first += pictures;
  }
  return {at::cat(objects), at::cat(overlaps)};
}

}  // namespace packhorse::trainer
