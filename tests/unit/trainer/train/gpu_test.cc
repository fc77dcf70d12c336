// Tests of the whole trainer on a GPU. Tests of single parts on a GPU stand with the parts. All are
// in the suite "gpu" and say so when there is no GPU.
#include "unit/trainer/gpu.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>

#include "checkpoint/checkpoint.h"
#include "input/prefetcher.h"
#include "packhorse/trainer/parallel/processes.h"
#include "packhorse/trainer/train/fit.h"
#include "support/pictures.h"
#include "support/support.h"
#include "train/engine.h"
#include "unit/trainer/toy_set.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

constexpr int kSize = 32;

Recipe small_recipe() {
  RecipeChoices choices;
  choices.arch = "smallnet";
  choices.image_size = kSize;
  choices.batch_size = 16;
  choices.lr = 0.05;
  choices.seed = 3;
  return resolve(choices, {});
}

DeviceBatch batch_of(std::int64_t number) {
  at::manual_seed(static_cast<std::uint64_t>(number));
  return {.images = at::randint(256, {16, kSize, kSize, 3}).to(at::kByte).to(at::kCUDA),
          .labels = at::randint(3, {16}, at::kLong).to(at::kCUDA),
          .size = 16};
}

/// The parameters and mean losses after `steps` steps on the same batches.
std::pair<Checkpoint, std::vector<double>> trained(const Recipe& recipe,
                                                   const EngineOptions& options, int steps) {
  Engine engine(recipe, 3, options);
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    engine.train(batch_of(step), {.step = step, .part = 0, .lr = recipe.lr});
    losses.push_back(engine.report().loss);
  }
  return {engine.snapshot({}), losses};
}

/// The distance between two sets of parameters, as a share of their length.
double distance(const NamedTensors& a, const NamedTensors& b) {
  double apart = 0, length = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].second.is_floating_point()) continue;
    apart += (a[i].second - b[i].second).square().sum().item<double>();
    length += a[i].second.square().sum().item<double>();
  }
  return std::sqrt(apart / length);
}

void check_alike(const std::pair<Checkpoint, std::vector<double>>& a,
                 const std::pair<Checkpoint, std::vector<double>>& b) {
  CHECK(distance(a.first.model, b.first.model) < 1e-3);
  for (std::size_t i = 0; i < a.second.size(); ++i) {
    CHECK(a.second[i] == doctest::Approx(b.second[i]).epsilon(1e-2));
  }
}

FitOptions toy_options(const test::TemporaryDirectory& directory, const std::string& out) {
  test::make_toy_set(directory / "data/train", 3, 32);
  test::make_toy_set(directory / "data/test", 3, 5);
  FitOptions options;
  options.data = directory / "data";
  options.out = directory / out;
  options.device = pick_device("cuda");
  options.workers = 2;
  options.recipe.arch = "smallnet";
  options.recipe.image_size = 16;
  options.recipe.augment = AugmentKind::kPadCrop;
  options.recipe.batch_size = 16;
  options.recipe.epochs = 3;
  options.recipe.lr = 0.1;
  options.recipe.seed = 5;
  return options;
}

}  // namespace

TEST_SUITE_BEGIN("gpu");

TEST_CASE("gpu: steps replayed from a graph are those taken one by one") {
  if (test::no_gpu()) return;
  for (const Amp amp : {Amp::kOff, Amp::kBf16, Amp::kFp16}) {
    CAPTURE(name_of(amp));
    Recipe recipe = small_recipe();
    recipe.amp = amp;
    const Device device = pick_device("cuda");
    check_alike(trained(recipe, {.device = device}, 8),
                trained(recipe, {.device = device, .cuda_graph = true}, 8));
  }
}

TEST_CASE("gpu: the learning rate of a replayed step is its own") {
  if (test::no_gpu()) return;
  const Recipe recipe = small_recipe();
  Engine engine(recipe, 3, {.device = pick_device("cuda"), .cuda_graph = true});
  for (int step = 0; step < 6; ++step) {
    engine.train(batch_of(step), {.step = step, .part = 0, .lr = 0.05});
  }
  const Checkpoint before = engine.snapshot({});
  engine.train(batch_of(6), {.step = 6, .part = 0, .lr = 0});
  const Checkpoint after = engine.snapshot({});
  for (std::size_t i = 0; i < before.model.size(); ++i) {
    const bool parameter = before.model[i].first.find("running") == std::string::npos &&
                           before.model[i].first.find("tracked") == std::string::npos;
    if (parameter) CHECK(before.model[i].second.equal(after.model[i].second));
  }
}

TEST_CASE("gpu: every precision learns, eagerly and from a graph") {
  if (test::no_gpu()) return;
  const test::TemporaryDirectory directory;
  for (const Amp amp : {Amp::kOff, Amp::kBf16, Amp::kFp16}) {
    for (const bool graph : {false, true}) {
      CAPTURE(name_of(amp));
      CAPTURE(graph);
      FitOptions options = toy_options(directory, "run");
      options.overwrite = true;
      options.recipe.amp = amp;
      options.cuda_graph = graph;
      CHECK(fit(options).val->at("top1") >= 60);
    }
  }
}

TEST_CASE("gpu: a gradient that is not finite in float16 is left out, and the scale falls") {
  if (test::no_gpu()) return;
  Recipe recipe = small_recipe();
  recipe.amp = Amp::kFp16;
  recipe.non_finite = NonFinite::kSkip;
  Engine engine(recipe, 3, {.device = pick_device("cuda")});
  engine.train(batch_of(0), {.step = 0, .part = 0, .lr = 0.05});
  const double scale = engine.report().loss_scale;
  Checkpoint loaded = engine.snapshot({});
  loaded.scaler[0] = 1e38;  // overflows in any gradient
  engine.load(loaded, "made");
  engine.train(batch_of(1), {.step = 1, .part = 0, .lr = 0.05});
  const StepsReport report = engine.report();
  CHECK(report.skipped >= 1);
  CHECK(report.loss_scale < 1e38);
  CHECK(scale > 0);
}

TEST_CASE("gpu: a resumed run ends where the whole one does, but for rounding") {
  if (test::no_gpu()) return;
  const test::TemporaryDirectory directory;
  const FitOptions whole = toy_options(directory, "whole");
  fit(whole);
  FitOptions parts = toy_options(directory, "parts");
  parts.max_steps = 8;
  fit(parts);
  parts.max_steps = 0;
  parts.resume = true;
  CHECK(fit(parts).steps == 18);
  CHECK(distance(read_checkpoint(directory / "whole/last.pt").model,
                 read_checkpoint(directory / "parts/last.pt").model) < 0.02);
}

TEST_CASE("gpu: NCCL with one process sums, broadcasts and trains as no process does") {
  if (test::no_gpu()) return;
  const Device device = pick_device("cuda");
  Launch launch;
  launch.port = 0;  // any free port
  const Processes processes(launch, device, std::chrono::seconds(60));
  const auto numbers = at::tensor({1.0, 2.0}, at::kCUDA);
  processes.sum(numbers);
  processes.broadcast({numbers});
  processes.meet();
  CHECK(numbers.cpu().equal(at::tensor({1.0, 2.0})));
  const Recipe recipe = small_recipe();
  check_alike(trained(recipe, {.device = device}, 5),
              trained(recipe, {.device = device, .processes = &processes}, 5));
}

TEST_CASE("gpu: processes may be given up when what they summed is done") {
  if (test::no_gpu()) return;
  const Device device = pick_device("cuda");
  Launch launch;
  launch.port = 0;
  Processes processes(launch, device, std::chrono::seconds(60));
  const auto numbers = at::tensor({1.0, 2.0}, at::kCUDA);
  processes.sum(numbers);
  processes.abort();
  CHECK(numbers.cpu().numel() == 2);
}

TEST_CASE(
    "gpu: no buffer is written while queued work still reads it, no slot while it is copied") {
  if (test::no_gpu()) return;
  const test::TemporaryDirectory directory;
  test::make_toy_set(directory / "data", 3, 64);
  const auto dataset = reader::Dataset::open(directory / "data");
  const Device device = pick_device("cuda");
  reader::LoaderOptions options{.batch_size = 8, .workers = 4, .slots = 2};
  options.augment = reader::RandomResizedCrop{.size = 64};
  reader::Loader expected(dataset, options);
  options.allocator = slot_allocator(device);
  reader::Loader loader(dataset, options);
  Prefetcher batches(loader, device, /*depth=*/2);
  const auto slow = at::randn({4096, 4096}, at::kCUDA);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    expected.start_epoch(epoch);
    batches.start_epoch(epoch);
    std::vector<at::Tensor> sums, wanted;
    while (auto batch = batches.next()) {
      const auto product = at::matmul(slow, slow);  // the sum below runs long after it is queued
      sums.push_back(batch->images.to(at::kLong).sum({1, 2, 3}) * (product[0][0] == product[0][0]));
    }
    while (const auto batch = expected.next()) {
      const auto images = batch->images();
      const std::size_t each = images.size() / 8;
      std::vector<std::int64_t> of(8, 0);
      for (std::size_t i = 0; i < images.size(); ++i) of[i / each] += images[i];
      wanted.push_back(at::tensor(of));
    }
    REQUIRE(sums.size() == wanted.size());
    for (std::size_t i = 0; i < sums.size(); ++i) CHECK(sums[i].cpu().equal(wanted[i]));
  }
}

TEST_CASE("gpu: batches that the GPU decodes come in order, near the CPU's, when left early too") {
  if (test::no_gpu()) return;
  const test::TemporaryDirectory directory;
  for (unsigned number = 0; number < 96; ++number) {
    const auto jpeg = test::make_jpeg(test::make_picture(150 + int(number), 120, 3, number));
    test::put(directory / "data/c" / (std::to_string(1000 + number) + ".jpg"),
              {reinterpret_cast<const char*>(jpeg.data()), jpeg.size()});
  }
  const auto dataset = reader::Dataset::open(directory / "data");
  const Device device = pick_device("cuda");
  reader::LoaderOptions options{.batch_size = 12, .workers = 2, .slots = 3};
  options.augment = reader::RandomResizedCrop{.size = 64};
  reader::Loader on_cpu(dataset, options);
  options.allocator = slot_allocator(device);
  options.encoded_share = 1;
  reader::Loader left(dataset, options);
  Prefetcher batches(left, device);
  batches.start_epoch(0);
  REQUIRE(batches.next());  // the others are dropped
  for (std::uint64_t epoch = 1; epoch < 3; ++epoch) {
    batches.start_epoch(epoch);
    on_cpu.start_epoch(epoch);
    int seen = 0;
    while (const auto batch = batches.next()) {
      const auto expected = on_cpu.next();
      REQUIRE(expected);
      const auto made = batch->images.cpu();
      double difference = 0;
      for (std::size_t i = 0; i < expected->images().size(); ++i) {
        difference += std::abs(made.const_data_ptr<std::uint8_t>()[i] - expected->images()[i]);
      }
      CHECK(difference / static_cast<double>(expected->images().size()) <= 1.5);
      CHECK(batch->labels.cpu().equal(at::tensor(
          std::vector<std::int64_t>(expected->labels().begin(), expected->labels().end()))));
      ++seen;
    }
    CHECK(seen == 8);
  }
}

TEST_CASE("gpu: memory in use is part of what is reserved") {
  if (test::no_gpu()) return;
  const Device device = pick_device("cuda");
  const auto numbers = at::randn({1 << 20}, at::kCUDA);
  const PeakMemory peak = peak_memory(device);
  CHECK(peak.allocated >= numbers.nbytes());
  CHECK(peak.reserved >= peak.allocated);
}

TEST_SUITE_END();
