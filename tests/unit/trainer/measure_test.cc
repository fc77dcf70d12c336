#include "packhorse/trainer/measure.h"

#include "packhorse/pack.h"
#include "support/support.h"
#include "toy_set.h"

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
  options.repeats = 2;
  return options;
}

}  // namespace

TEST_CASE("measure: gives rates for the folder and the packed dataset") {
  const test::TemporaryDirectory directory;
  test::make_toy_set(directory / "folder", 3, 8);
  pack(directory / "folder", directory / "wds", PackOptions{.format = "wds"});
  const SpeedReport report = measure(short_options(directory));
  REQUIRE(report.inputs.size() == 2);
  CHECK(report.inputs[0].format == "folder");
  CHECK(report.inputs[1].format == "wds");
  CHECK(report.workers == 1);
  for (const InputSpeed& input : report.inputs) {
    CHECK(input.samples == 24);
    CHECK(input.read.median > 0);
    CHECK(input.decode.min > 0);
    CHECK(input.training.min <= input.training.median);
    CHECK(input.wait_share >= 0);
    CHECK(input.wait_share <= 1);
    CHECK(input.loss > 0);
  }
}

TEST_CASE("measure: refuses a dataset that is not the folder's") {
  const test::TemporaryDirectory directory;
  test::make_toy_set(directory / "folder", 3, 8);
  test::make_toy_set(directory / "other", 3, 9);
  pack(directory / "other", directory / "wds", PackOptions{.format = "wds"});
  CHECK(test::kind_of_error([&] { measure(short_options(directory)); }) == ErrorKind::kUsage);
}
