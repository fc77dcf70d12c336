#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>

#include <functional>

#include "packhorse/reader/geometry.h"
#include "packhorse/trainer/recipe/recipe.h"
#include "tasks/task.h"

namespace packhorse::trainer {

/// Images after Mixup or CutMix.
struct MixedImages {
  at::Tensor images;
  at::Tensor partners;  ///< int64 [B]: what each was mixed with; undefined: nothing was
  double lambda = 1;    ///< the share of the image itself
};

/// Mixes normalised images as the recipe says, by its seed and the place. May change `images`.
inline MixedImages mix_images(const Recipe& recipe, const at::Tensor& images,
                              const StepPlace& place) {
  const auto step = static_cast<std::uint64_t>(place.step * recipe.accumulate + place.part);
  const reader::ImageSize size = {static_cast<int>(images.size(2)),
                                  static_cast<int>(images.size(3))};
  const reader::MixPlan plan =
      reader::plan_mix(mix_options(recipe), images.size(0), size, recipe.seed, /*epoch=*/0, step);
  if (plan.kind == reader::MixPlan::Kind::kNone) return {.images = images, .partners = {}};
  const at::Tensor partners = at::tensor(plan.partners).to(images.device(), /*non_blocking=*/true);
  if (plan.kind == reader::MixPlan::Kind::kMixup)
    return {images.lerp(images.index_select(0, partners), 1 - plan.lambda), partners, plan.lambda};
  const auto box = images.narrow(2, plan.y, plan.h).narrow(3, plan.x, plan.w);
  box.copy_(box.index_select(0, partners));
  return {images, partners, plan.lambda};
}

}  // namespace packhorse::trainer
