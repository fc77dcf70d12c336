#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "packhorse/trainer/models/archs.h"
#include "packhorse/trainer/models/models.h"
#include "support/support.h"
#include "tasks/detect/family.h"

namespace packhorse::trainer {

TEST_CASE("losses: boxes of any size where there is no object do not count") {
  for (const char* arch : {"yolox-nano", "fcos-resnet50"}) {
    CAPTURE(arch);
    const Recipe recipe = default_recipe(find_arch(arch));
    at::Tensor predictions;
    {
      const at::NoGradGuard no_grad;
      predictions = make_model(arch, 2)->forward(at::zeros({1, 3, 64, 64}));
    }
    predictions.narrow(2, 2, 2).fill_(1e30);  // a square is beyond float's numbers
    predictions.requires_grad_();
    const TrueBoxes none{at::ones({1, 1, 4}), at::zeros({1, 1}, at::kLong),
                         at::zeros({1, 1}, at::kBool)};
    const at::Tensor loss = family_of(recipe).loss(predictions, none, 64, /*last_epochs=*/true);
    loss.backward();
    CHECK(loss.isfinite().item<bool>());
    CHECK(predictions.grad().isfinite().all().item<bool>());
  }
}

}  // namespace packhorse::trainer
