#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>

#include <vector>

#include "models/archs.h"
#include "packhorse/trainer/models/models.h"
#include "support/support.h"
#include "tasks/detect/family.h"
#include "tasks/detect/fcos_loss.h"
#include "tasks/detect/yolox_loss.h"

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
    const TrueBoxes none{
        at::ones({1, 1, 4}), at::zeros({1, 1}, at::kLong), at::zeros({1, 1}, at::kBool), {0}};
    const at::Tensor loss = family_of(recipe).loss(predictions, none, 64, /*last_epochs=*/true);
    loss.backward();
    CHECK(loss.isfinite().item<bool>());
    CHECK(predictions.grad().isfinite().all().item<bool>());
  }
}

TEST_CASE("losses: objects are assigned in parts of a batch that fit into memory") {
  constexpr std::int64_t kPictures = 5, kRows = 7, kSide = 64, kClasses = 3;
  at::manual_seed(3);
  TrueBoxes truth{at::rand({kPictures, kRows, 4}) * 40 + 10,
                  at::randint(kClasses, {kPictures, kRows}, at::kLong),
                  at::zeros({kPictures, kRows}, at::kBool),
                  {3, 0, 7, 1, 0}};
  for (std::int64_t i = 0; i < kPictures; ++i)
    truth.real[i].narrow(0, 0, truth.counts[static_cast<std::size_t>(i)]).fill_(true);

  const AnchorPoints points = anchor_points(kSide, kSide, at::kCPU);
  const std::int64_t places = points.x.numel();
  const at::Tensor predictions = at::rand({kPictures, places, 5 + kClasses}) * 30 + 1;
  const FcosPoints levels = fcos_points(kSide, kSide, at::kCPU);
  const Assignment whole = assign_simota(predictions, truth, points);
  const at::Tensor of_fcos = assign_fcos(truth, levels);
  CHECK((whole.object >= 0).sum().item<std::int64_t>() > 11);
  CHECK((of_fcos >= 0).any().item<bool>());

  // The first two share three rows; the third alone has more pairs than that; the last two have
  // one.
  const std::vector<TrueBoxes> parts = parts_of(truth, places, 6 * places);
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].counts == std::vector<std::int64_t>{3, 0});
  CHECK(parts[0].boxes.sizes() == at::IntArrayRef{2, 3, 4});
  CHECK(parts[1].counts == std::vector<std::int64_t>{7});
  CHECK(parts[2].real.sizes() == at::IntArrayRef{2, 1});
  for (const std::int64_t most : {std::int64_t{1}, 6 * places, 8 * places}) {
    CAPTURE(most);
    const Assignment assigned = assign_simota(predictions, truth, points, most);
    CHECK(at::equal(assigned.object, whole.object));
    CHECK(at::equal(assigned.overlap, whole.overlap));
    CHECK(at::equal(assign_fcos(truth, levels, most), of_fcos));
  }
}

}  // namespace packhorse::trainer
