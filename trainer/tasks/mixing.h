#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "packhorse/trainer/recipe/recipe.h"
#include "packhorse/trainer/tasks/task.h"

namespace packhorse::trainer {

/// Images after Mixup or CutMix.
struct MixedImages {
  at::Tensor images;
  at::Tensor partners;  ///< int64 [B]: what each was mixed with; undefined: nothing was
  double lambda = 1;    ///< the share of the image itself
};

/// Mixes normalised images as the recipe says, by its seed and the place. May change `images`.
MixedImages mix_images(const Recipe& recipe, const at::Tensor& images, const StepPlace& place);

}  // namespace packhorse::trainer
