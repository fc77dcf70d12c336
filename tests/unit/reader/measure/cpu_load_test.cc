#include "measure/cpu_load.h"

#include <doctest/doctest.h>

namespace packhorse::reader::test {

namespace {

// user nice system idle iowait irq softirq steal guest guest_nice
constexpr std::string_view kStat =
    "cpu  1000 0 0 0 0 0 0 0 0 0\n"
    "cpu0 100 20 30 5000 600 1 2 7 90 0\n"
    "cpu1 200 0 0 0 0 0 0 0 0 0\n"
    "cpu12 50 0 0 0 0 0 0 0 0 0\n"
    "intr 17 0 0\n";

}  // namespace

TEST_CASE("CPU load: busy is what is neither idle nor waiting, of the CPUs that are asked for") {
  CHECK(busy_seconds(kStat, {0}, 100).value() == doctest::Approx(1.6));
  CHECK(busy_seconds(kStat, {0, 1}, 100).value() == doctest::Approx(3.6));
  CHECK(busy_seconds(kStat, {12}, 100).value() == doctest::Approx(0.5));
}

TEST_CASE("CPU load: what is not there is not known") {
  CHECK_FALSE(busy_seconds(kStat, {0, 2}, 100).has_value());
  CHECK_FALSE(busy_seconds(kStat, {}, 100).has_value());
  CHECK_FALSE(busy_seconds("", {0}, 100).has_value());
  CHECK_FALSE(busy_seconds("cpu0 1 2\n", {0}, 100).has_value());
}

TEST_CASE("CPU load: pressure is what some tasks waited") {
  CHECK(stalled_seconds("some avg10=1.00 avg60=0.00 avg300=0.00 total=1500000\n"
                        "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n")
            .value() == doctest::Approx(1.5));
  for (const std::string_view text : {"", "full total=7\n", "some avg10=1.00\n", "some total=x\n"})
    CHECK_FALSE(stalled_seconds(text).has_value());
}

TEST_CASE("CPU load: others have what this process has not, of the CPUs there are") {
  CHECK(foreign_cpus(3, 1, 2, 2) == doctest::Approx(1));
  CHECK(foreign_cpus(4, 0, 2, 2) == doctest::Approx(2));
  CHECK(foreign_cpus(1, 1.01, 2, 2) == 0);
  CHECK(foreign_cpus(4.1, 0, 2, 2) == 2);
}

}  // namespace packhorse::reader::test
