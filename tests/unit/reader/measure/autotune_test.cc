#include "packhorse/reader/autotune.h"

#include <doctest/doctest.h>

#include "base/resources.h"
#include "packhorse/base/error.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

TEST_CASE("autotune: measures one worker up to all CPUs, and says why it took which") {
  const Autotuned tuned =
      autotune(make_dataset(40), {.batch_size = 5, .augment = RandomResizedCrop{.size = 24}}, 0.02);
  REQUIRE(tuned.curve.front().workers == 1);
  CHECK(tuned.curve.back().workers == available_cpus());
  CHECK(tuned.workers >= 1);
  CHECK(tuned.workers <= available_cpus());
  CHECK(tuned.reason.find(std::to_string(tuned.workers) + " worker") == 0);
  CHECK(tuned.reason.find("img/s") != std::string::npos);
}

TEST_CASE("autotune: a dataset that fills no batch is refused") {
  CHECK(kind_of_error([] { autotune(make_dataset(3), {.batch_size = 5}, 0.01); }) ==
        ErrorKind::kUsage);
}

}  // namespace packhorse::reader::test
