#include "measure/knee.h"

#include <doctest/doctest.h>

namespace packhorse::reader::test {

TEST_CASE("knee: it is the fewest workers near the best rate") {
  const auto knee = find_knee({{4, 2000}, {1, 1000}, {2, 1930}, {8, 2010}});
  REQUIRE(knee);
  CHECK(knee->workers == 2);
  CHECK(knee->images_per_s == 1930);
  CHECK(knee->best_workers == 8);
  CHECK(knee->best_per_s == 2010);
  CHECK_FALSE(knee->still_rising);
}

TEST_CASE("knee: a curve that still rises at its end says so") {
  const auto knee = find_knee({{1, 100}, {2, 200}, {4, 390}});
  REQUIRE(knee);
  CHECK(knee->workers == 4);
  CHECK(knee->still_rising);
}

TEST_CASE("knee: a falling curve has it at its beginning") {
  const auto knee = find_knee({{0, 900}, {1, 800}, {2, 700}});
  REQUIRE(knee);
  CHECK(knee->workers == 0);
  CHECK(knee->best_workers == 0);
  CHECK_FALSE(knee->still_rising);
}

TEST_CASE("knee: one point is its own, no points have none") {
  const auto knee = find_knee({{3, 10}});
  REQUIRE(knee);
  CHECK(knee->workers == 3);
  CHECK_FALSE(knee->still_rising);
  CHECK_FALSE(find_knee({}));
  CHECK_FALSE(find_knee({{1, 0}, {2, 0}}));
}

}  // namespace packhorse::reader::test
