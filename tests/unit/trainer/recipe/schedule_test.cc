#include "recipe/schedule.h"

#include <doctest/doctest.h>

using packhorse::trainer::Schedule;

TEST_CASE("schedule: rises linearly, then falls as half a cosine") {
  const Schedule schedule{.lr = 0.4, .warmup_steps = 4, .total_steps = 12};
  // warm-up: 0.4 * (s + 1) / 4; then 0.2 * (1 + cos(pi * (s - 4) / 8)), computed with Python
  const double table[] = {0.1,
                          0.2,
                          0.3,
                          0.4,
                          0.4,
                          0.38477590650225735,
                          0.3414213562373095,
                          0.2765366864730180,
                          0.2,
                          0.12346331352698206,
                          0.0585786437626905,
                          0.01522409349774267};
  for (int step = 0; step < 12; ++step)
    CHECK(schedule.at(step) == doctest::Approx(table[step]).epsilon(1e-12));
}

TEST_CASE("schedule: is zero after the last step") {
  CHECK(Schedule{.lr = 1, .warmup_steps = 0, .total_steps = 3}.at(3) == 0);
}

TEST_CASE("schedule: starts at the full rate without warm-up") {
  CHECK(Schedule{.lr = 0.1, .warmup_steps = 0, .total_steps = 3}.at(0) == 0.1);
}

TEST_CASE("schedule: a warm-up of the whole run never divides by zero") {
  CHECK(Schedule{.lr = 1, .warmup_steps = 3, .total_steps = 3}.at(2) == 1);
}
