// Tests of the tasks on a GPU, in the suite "gpu": what is computed there is what the CPU computes.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include "input/prefetcher.h"
#include "models/archs.h"
#include "packhorse/trainer/models/models.h"
#include "tasks/detect/family.h"
#include "tasks/task.h"
#include "train/engine.h"
#include "unit/trainer/gpu.h"

namespace packhorse::trainer {

namespace {

constexpr std::int64_t kSide = 128, kPictures = 3, kClasses = 4;

Recipe recipe_of(const char* arch) {
  RecipeChoices choices;
  choices.arch = arch;
  choices.image_size = static_cast<int>(kSide);
  choices.batch_size = kPictures;
  choices.lr = 1e-3;
  return resolve(choices, default_recipe(choices));
}

/// Boxes of about the size of objects; the last picture has none.
TrueBoxes some_boxes() {
  const at::Tensor middles = at::rand({kPictures, 5, 2}) * 100 + 14,
                   sides = at::rand({kPictures, 5, 2}) * 60 + 8;
  TrueBoxes truth{at::cat({middles, sides}, 2), at::randint(kClasses, {kPictures, 5}, at::kLong),
                  at::ones({kPictures, 5}, at::kBool), std::vector<std::int64_t>(kPictures, 5)};
  truth.real.select(0, kPictures - 1).fill_(false);
  truth.boxes.select(0, kPictures - 1).fill_(1);
  truth.counts.back() = 0;
  return truth;
}

/// float [3, A, 5 + classes]: boxes around the places, none of which is as likely as another.
at::Tensor some_predictions(const Recipe& recipe) {
  const auto model = make_model(recipe.arch, kClasses);
  const at::NoGradGuard no_grad;
  at::Tensor predictions = model->forward(at::randn({kPictures, 3, kSide, kSide}));
  predictions.narrow(2, 2, 2) += at::rand({kPictures, predictions.size(1), 2}) * 40;
  predictions.narrow(2, 4, 1 + kClasses) =
      at::randn({kPictures, predictions.size(1), 1 + kClasses});
  return predictions;
}

struct Outcome {
  double loss;
  at::Tensor gradient;
  std::vector<std::vector<Detection>> found;
};

Outcome outcome_on(const at::Device& device, const Recipe& recipe, const at::Tensor& predictions,
                   const TrueBoxes& truth) {
  const at::Tensor there = predictions.to(device).detach().requires_grad_();
  const DetectorFamily& family = family_of(recipe);
  const TrueBoxes moved{truth.boxes.to(device), truth.labels.to(device), truth.real.to(device),
                        truth.counts};
  const at::Tensor loss = family.loss(there, moved, kSide, /*last_epochs=*/true);
  loss.backward();
  return {loss.item<double>(), there.grad().cpu(),
          find_objects(there.detach(), family.rules(kSide, kSide))};
}

/// The losses of two steps on the same batch.
std::vector<double> steps_on(const Device& device, const Recipe& recipe, std::int64_t classes) {
  const at::Device there = device.is_cuda() ? at::kCUDA : at::kCPU;
  at::manual_seed(6);
  DeviceBatch batch{
      .images = at::randint(256, {kPictures, kSide, kSide, 3}).to(at::kByte).to(there),
      .labels = at::zeros({kPictures}, at::kLong).to(there),
      .size = kPictures};
  make_task(recipe)->add_made_targets(batch, classes);
  Engine engine(recipe, classes, {.device = device});
  std::vector<double> losses;
  for (int step = 0; step < 2; ++step) {
    engine.train(batch, {.step = step, .part = 0, .lr = recipe.lr});
    losses.push_back(engine.report().loss);
  }
  return losses;
}

void check_outcomes(const at::Device& device) {
  for (const char* arch : {"yolox-nano", "fcos-resnet50"}) {
    CAPTURE(arch);
    at::manual_seed(5);
    const Recipe recipe = recipe_of(arch);
    const at::Tensor predictions = some_predictions(recipe);
    const TrueBoxes truth = some_boxes();
    const Outcome wanted = outcome_on(at::kCPU, recipe, predictions, truth);
    const Outcome outcome = outcome_on(device, recipe, predictions, truth);
    CHECK(outcome.loss == doctest::Approx(wanted.loss).epsilon(1e-4));
    CHECK(at::allclose(outcome.gradient, wanted.gradient, 1e-3, 1e-5));
    REQUIRE(outcome.found.size() == wanted.found.size());
    for (std::size_t i = 0; i < wanted.found.size(); ++i) {
      REQUIRE(outcome.found[i].size() == wanted.found[i].size());
      CHECK_FALSE(wanted.found[i].empty());
      for (std::size_t k = 0; k < wanted.found[i].size(); ++k)
        CHECK(outcome.found[i][k].score == doctest::Approx(wanted.found[i][k].score).epsilon(1e-5));
    }
  }
}

void check_steps(const Device& device) {
  RecipeChoices labels;
  labels.task = TaskKind::kMultiLabel;
  labels.arch = "smallnet";
  labels.image_size = static_cast<int>(kSide);
  labels.batch_size = kPictures;
  for (const Recipe& recipe : {recipe_of("yolox-nano"), resolve(labels, default_recipe(labels))}) {
    CAPTURE(recipe.arch);
    const std::vector<double> wanted = steps_on({}, recipe, kClasses);
    const std::vector<double> losses = steps_on(device, recipe, kClasses);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      CHECK(losses[i] == doctest::Approx(wanted[i]).epsilon(0.05));  // TF32, and other sums
  }
}

}  // namespace

TEST_CASE("tasks: a step is the same when it is done again") {
  check_outcomes(at::kCPU);
  check_steps({});
}

TEST_SUITE("gpu") {
  TEST_CASE("gpu: losses, gradients and detections of detectors are the CPU's") {
    if (test::no_gpu()) return;
    check_outcomes(at::kCUDA);
  }

  TEST_CASE("gpu: steps of a detector and of several classes a picture are the CPU's") {
    if (test::no_gpu()) return;
    check_steps(pick_device("cuda"));
  }
}

}  // namespace packhorse::trainer
