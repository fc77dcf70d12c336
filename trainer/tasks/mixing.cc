#include "tasks/mixing.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include "packhorse/reader/augment.h"

namespace packhorse::trainer {

MixedImages mix_images(const Recipe& recipe, const at::Tensor& images, const StepPlace& place) {
  const auto step = static_cast<std::uint64_t>(place.step * recipe.accumulate + place.part);
  const auto size = static_cast<int>(images.size(2));
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
