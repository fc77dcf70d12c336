#include "measure/measure.h"

#include <cmath>

#include "measure/pack_all.h"
#include "measure/sweep.h"
#include "packhorse/packing/pack.h"
#include "support/support.h"
#include "unit/trainer/toy_set.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

MeasureOptions short_options(const test::TemporaryDirectory& directory) {
  MeasureOptions options;
  options.folder = directory / "folder";
  options.packed = {directory / "wds"};
  options.recipe.image_size = 16;
  options.recipe.batch_size = 8;
  options.workers = 1;
  options.steps = 4;
  options.warmup_steps = 2;
  options.repeats = 2;
  options.max_seconds = 5;  // no more than the steps, and one epoch
  return options;
}

void make_inputs(const test::TemporaryDirectory& directory) {
  test::make_toy_set(directory / "folder", 3, 8);
  pack(directory / "folder", directory / "wds", PackOptions{.format = "wds"});
}

}  // namespace

TEST_CASE("measure: a pass a repeat of each work, for each input and condition") {
  const test::TemporaryDirectory directory;
  make_inputs(directory);
  MeasureOptions options = short_options(directory);
  options.storages = {reader::parse_storage("open=100us")};
  const SpeedReport report = measure(options);
  REQUIRE(report.inputs.size() == 2);
  CHECK(report.inputs[0].name == "folder");
  CHECK(report.inputs[1].name == "wds original");
  CHECK(report.workers == 1);
  CHECK(report.device_limit.size() == 2);
  REQUIRE(report.conditions.size() == 2);
  CHECK(report.conditions[0].name() == "warm");
  CHECK(report.conditions[1].name() == "open=100us");
  std::size_t without_the_disk = 0;
  for (std::size_t condition = 0; condition < 2; ++condition) {
    for (std::size_t input = 0; input < 2; ++input) {
      const MeasuredRun& run = report.run(condition, input);
      CHECK(run.condition == condition);
      CHECK(run.input == input);
      for (const auto* passes : {&run.read, &run.decode, &run.training}) {
        REQUIRE(passes->size() == 2);
        for (const Pass& pass : *passes) {
          CHECK(pass.images_per_s() > 0);
          CHECK(pass.bytes > 0);
          CHECK(pass.first_batch_s > 0);
          // Simulated storage counts its own bytes.
          if (condition == 1) CHECK(pass.disk_bytes >= pass.bytes);
          if (condition == 0 && pass.disk_bytes == 0) ++without_the_disk;
        }
      }
      for (const Pass& pass : run.training) {
        CHECK(pass.images == 32);
        CHECK(pass.batch_ms.size() == 4);
        CHECK(pass.loss > 0);
        CHECK(pass.wait_s + pass.compute_s <= pass.seconds);
      }
    }
  }
  // The kernel's count includes the process, which may still load its own pages. No warm pass needs
  // the disk.
  CHECK(without_the_disk > 0);
}

TEST_CASE("measure: the attributed times add up to the epoch") {
  const test::TemporaryDirectory directory;
  make_inputs(directory);
  MeasureOptions options = short_options(directory);
  options.storages = {reader::parse_storage("open=2ms")};
  const SpeedReport report = measure(options);
  for (const MeasuredRun& run : report.runs) {
    const Attribution parts = attribute(report, run);
    CHECK(parts.epoch_s > 0);
    CHECK(std::abs(parts.other_s) <= 0.03 * parts.epoch_s);
  }
}

TEST_CASE("measure: a simulated device takes its time, whatever the model") {
  const test::TemporaryDirectory directory;
  make_inputs(directory);
  MeasureOptions options = short_options(directory);
  options.simulated_device = 800;
  const SpeedReport report = measure(options);
  // 8 images take 10 ms, and no sleep is too short.
  for (const Pass& pass : report.device_limit) CHECK(pass.images_per_s() <= 801);
  CHECK(report.device == "a simulated device of 800 images/s");
}

TEST_CASE("measure: refuses a dataset that is not the folder's, and options without sense") {
  const test::TemporaryDirectory directory;
  test::make_toy_set(directory / "folder", 3, 8);
  test::make_toy_set(directory / "other", 3, 9);
  pack(directory / "other", directory / "wds", PackOptions{.format = "wds"});
  CHECK(test::kind_of_error([&] { measure(short_options(directory)); }) == ErrorKind::kUsage);
  for (const auto& spoil : std::vector<std::function<void(MeasureOptions&)>>{
           [](MeasureOptions& options) { options.repeats = 0; },
           [](MeasureOptions& options) { options.warmup_steps = 0; },
           [](MeasureOptions& options) { options.max_seconds = 0; },
           [](MeasureOptions& options) { options.steps = -1; },
           [](MeasureOptions& options) { options.gpu_decode = true; },
           [](MeasureOptions& options) { options.cuda_graph = true; }}) {
    MeasureOptions options = short_options(directory);
    spoil(options);
    CHECK(test::kind_of_error([&] { measure(options); }) == ErrorKind::kUsage);
  }
}

TEST_CASE("pack_all: every format and mode asked for, and what is there is kept") {
  const test::TemporaryDirectory directory;
  test::make_toy_set(directory / "folder", 2, 4);
  PackAllOptions options{.folder = directory / "folder",
                         .scratch = directory / "scratch",
                         .formats = {"wds", "lmdb"},
                         .image_modes = {"original", "raw"}};
  const auto first = pack_all(options);
  REQUIRE(first.size() == 4);
  for (const PackingCost& cost : first) {
    CHECK_FALSE(cost.was_there);
    CHECK(cost.seconds > 0);
    CHECK(cost.bytes_out > 0);
    CHECK(reader::Dataset::open(cost.path)->image_mode() == cost.image_mode);
  }
  for (const PackingCost& cost : pack_all(options)) CHECK(cost.was_there);
  CHECK(first[1].settings == "size=256 fit=crop");
  options.side = 32;
  CHECK(test::kind_of_error([&] { pack_all(options); }) == ErrorKind::kExists);
}

TEST_CASE("pack_all: smaller pictures are as large as the training wants them") {
  Recipe recipe;
  recipe.image_size = 224;
  recipe.augment = AugmentKind::kRandomResizedCrop;
  CHECK(side_for(recipe) == 256);
  recipe.image_size = 32;
  CHECK(side_for(recipe) == 37);
  recipe.augment = AugmentKind::kPadCrop;
  CHECK(side_for(recipe) == 32);
}

TEST_CASE("sweep: trains with every setting, and recommends the smallest that is near the best") {
  const test::TemporaryDirectory directory;
  make_inputs(directory);
  SweepOptions options;
  options.measure = short_options(directory);
  options.data = directory / "wds";
  options.workers = {2, 1, 2};
  options.slots = {2, 3};
  const SweepReport report = sweep(options);
  REQUIRE(report.settings.size() == 4);
  CHECK(report.settings[0].workers == 1);
  CHECK(report.settings[3].workers == 2);
  CHECK(report.settings[3].slots == 3);
  CHECK(report.settings[3].batches_bytes == 3 * 8 * 16 * 16 * 3);
  for (const SweepSetting& setting : report.settings) {
    CHECK(setting.passes.size() == 2);
    CHECK(setting.images_per_s() > 0);
    CHECK(setting.memory_bytes > 0);
  }
  CHECK(report.memory_available > 0);
  CHECK(recommend(report).setting < 4);
}

TEST_CASE("sweep: a worker's memory is what the memory grew by, between the same slots") {
  SweepReport report;
  const auto add = [&](int workers, int slots, std::uint64_t memory) {
    report.settings.push_back(
        {.workers = workers, .slots = slots, .passes = {}, .memory_bytes = memory});
  };
  add(1, 2, 1000);
  CHECK(memory_per_worker(report) == 0);
  add(1, 4, 5000);
  add(4, 2, 1600);
  add(4, 4, 9000);
  CHECK(memory_per_worker(report) == 200);
}
