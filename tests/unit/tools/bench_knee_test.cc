#include <doctest/doctest.h>

#include "base/resources.h"
#include "bench/run.h"

namespace packhorse::bench::test {

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// A pass of one second on all CPUs, one worker each.
struct Case {
  const char* what;
  bool from_storage;
  double busy;        ///< share of the CPUs, by the program
  double read_share;  ///< of the workers' time
  double foreign;     ///< share of the CPUs, by others
  const char* said;
  const char* never;
};

// clang-format off
const Case kCases[] = {
    {"all CPUs busy", false, 0.95, 0.1, 0, ": the processor is the limit", "storage"},
    {"waiting for reading", true, 0.2, 0.8, 0, "workers wait for reading: the storage is the limit", "processor"},
    {"storage, but decoding", true, 0.5, 0.2, 0, "more workers gain less than 5 %", "the limit"},
    {"storage, all CPUs busy", true, 0.95, 0.6, 0, ": the processor is the limit", "storage"},
    {"others are busy, too", false, 0.5, 0.1, 0.45, "other processes use", "storage"},
    {"nobody is busy", false, 0.5, 0.1, 0.05, "more workers gain less than 5 %", "the limit"},
};
// clang-format on

Run run_of(const Case& c, int workers, double images_per_s) {
  const double cpus = available_cpus();
  Run run;
  run.input = "d";
  run.workers = workers;
  if (c.from_storage) run.section.storage = reader::parse_storage("nfs");
  reader::Measurement pass;
  pass.images = static_cast<std::uint64_t>(images_per_s);
  pass.seconds = 1;
  pass.cpu_s = c.busy * cpus;
  pass.load.foreign_cpus = c.foreign * cpus;
  const auto time = static_cast<double>(kSecond) * workers;
  pass.counters.read_ns = static_cast<std::uint64_t>(c.read_share * time);
  pass.counters.decode_ns = static_cast<std::uint64_t>((1 - c.read_share) * time);
  run.passes.push_back(pass);
  return run;
}

}  // namespace

TEST_CASE("knee: its reason is what the figures tell of") {
  for (const Case& c : kCases) {
    CAPTURE(c.what);
    const std::vector<RunKnee> knees = knees_of({run_of(c, 1, 1000), run_of(c, 2, 1010)});
    REQUIRE(knees.size() == 1);
    const std::string& reason = knees[0].reason;
    CAPTURE(reason);
    CHECK(knees[0].knee.workers == 1);
    CHECK(reason.starts_with("1 worker: 1,000 img/s, 99 % of the best (1,010 with 2); "));
    CHECK(reason.find(c.said) != std::string::npos);
    CHECK(reason.find(c.never) == std::string::npos);
  }
}

TEST_CASE("knee: the most workers tried may not be the most that pay") {
  const std::vector<RunKnee> knees =
      knees_of({run_of(kCases[1], 1, 1000), run_of(kCases[1], 2, 1900)});
  REQUIRE(knees.size() == 1);
  CHECK(knees[0].reason ==
        "2 workers: 1,900 img/s; still rising at the most workers tried: the knee may be beyond "
        "them");
}

}  // namespace packhorse::bench::test
