#include "tasks/detect/fcos_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <vector>

#include "tasks/detect/boxes.h"

namespace packhorse::trainer {

namespace {

constexpr double kCentreRadius = 1.5;        // cells around an object's middle
constexpr double kLarger = 1e8;              // square pixels: than any object
constexpr double kAlpha = 0.25, kGamma = 2;  // of the focal loss
constexpr double kNotZero = 1e-7;

/// The edges of boxes [..., 4] given by centre and sides.
struct Edges {
  at::Tensor left, top, right, bottom;
  explicit Edges(const at::Tensor& boxes)
      : left(boxes.select(-1, 0) - boxes.select(-1, 2) / 2),
        top(boxes.select(-1, 1) - boxes.select(-1, 3) / 2),
        right(boxes.select(-1, 0) + boxes.select(-1, 2) / 2),
        bottom(boxes.select(-1, 1) + boxes.select(-1, 3) / 2) {}
  at::Tensor area() const { return (right - left) * (bottom - top); }
};

/// 1 - (overlap - share of the common frame that neither box covers).
at::Tensor overlap_losses(const at::Tensor& ours, const at::Tensor& targets) {
  const Edges a(ours), b(targets);
  const at::Tensor width = at::minimum(a.right, b.right) - at::maximum(a.left, b.left);
  const at::Tensor height = at::minimum(a.bottom, b.bottom) - at::maximum(a.top, b.top);
  const at::Tensor both = at::where((width > 0) & (height > 0), width * height, 0.0);
  const at::Tensor either = a.area() + b.area() - both;
  const at::Tensor frame = (at::maximum(a.right, b.right) - at::minimum(a.left, b.left)) *
                           (at::maximum(a.bottom, b.bottom) - at::minimum(a.top, b.top));
  return 1 - both / (either + kNotZero) + (frame - either) / (frame + kNotZero);
}

at::Tensor focal_losses(const at::Tensor& logits, const at::Tensor& targets) {
  const at::Tensor sure = logits.sigmoid();
  const at::Tensor right = sure * targets + (1 - sure) * (1 - targets);
  const at::Tensor weight = kAlpha * targets + (1 - kAlpha) * (1 - targets);
  return weight * cross_entropies(logits, targets) * (1 - right).pow(kGamma);
}

/// 1 in the middle of a box, 0 at its edge. Places without an object get a half.
at::Tensor nearness(const at::Tensor& targets, const FcosPoints& points, const at::Tensor& found) {
  const Edges box(targets);
  const at::Tensor left = points.x - box.left, right = box.right - points.x;
  const at::Tensor top = points.y - box.top, bottom = box.bottom - points.y;
  const at::Tensor squared = at::minimum(left, right) / at::maximum(left, right) *
                             (at::minimum(top, bottom) / at::maximum(top, bottom));
  return at::where(found, squared, 0.25).sqrt();
}

at::Tensor assign_fcos_part(const TrueBoxes& truth, const FcosPoints& points) {
  const std::int64_t pictures = truth.boxes.size(0), places = points.x.size(0);
  if (truth.boxes.size(1) == 0) return at::full({pictures, places}, -1, truth.labels.options());
  const at::Tensor boxes = truth.boxes.unsqueeze(1);  // [B, 1, G, 4]
  const Edges box(boxes);
  const at::Tensor x = points.x.unsqueeze(1), y = points.y.unsqueeze(1);  // [A, 1]
  const at::Tensor reach = (points.size * kCentreRadius).unsqueeze(1);
  const at::Tensor near =
      ((x - boxes.select(3, 0)).abs() < reach) & ((y - boxes.select(3, 1)).abs() < reach);
  const at::Tensor distances =
      at::stack({x - box.left, y - box.top, box.right - x, box.bottom - y}, 3);  // [B, A, G, 4]
  const at::Tensor farthest = distances.amax(3);
  const at::Tensor fits = near & (distances.amin(3) > 0) & (farthest > points.least.unsqueeze(1)) &
                          (farthest < points.most.unsqueeze(1)) & truth.real.unsqueeze(1);
  const auto [smallness, row] = (fits * (kLarger - box.area())).max(2);
  return at::where(smallness < 1e-5, -1, row);
}

}  // namespace

at::Tensor assign_fcos(const TrueBoxes& truth, const FcosPoints& points, std::int64_t most_pairs) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> objects;
  for (const TrueBoxes& part : parts_of(truth, points.x.size(0), most_pairs))
    objects.push_back(assign_fcos_part(part, points));
  return at::cat(objects);
}

FcosLoss fcos_loss(const at::Tensor& predictions, const TrueBoxes& truth,
                   const FcosPoints& points) {
  const at::Tensor object = assign_fcos(truth, points);
  const at::Tensor found = object >= 0;
  const at::Tensor count = found.sum().clamp_min(1).to(at::kFloat);
  const at::Tensor boxes = predictions.narrow(2, 0, 4);
  const at::Tensor class_logits = predictions.narrow(2, 5, predictions.size(2) - 5);
  const auto [targets, labels, ours] = targets_of(object, truth, boxes);
  const at::Tensor wanted = at::zeros_like(class_logits)
                                .scatter(2, labels.unsqueeze(2), found.to(at::kFloat).unsqueeze(2));

  FcosLoss loss;
  loss.classes = focal_losses(class_logits, wanted).sum() / count;
  loss.box = (overlap_losses(ours, targets) * found).sum() / count;
  loss.centre =
      (cross_entropies(predictions.select(2, 4), nearness(targets, points, found)) * found).sum() /
      count;
  loss.total = loss.classes + loss.box + loss.centre;
  return loss;
}

}  // namespace packhorse::trainer
