/// simulate [--first SEED] [--seeds N] [--jobs N] [--scenario NAME] [--trace] [--twice]
///
/// Runs worlds, one for each seed, and prints those in which a promise was broken, with the trace
/// of the first. Exit code 1 if there were any.
#include <fmt/format.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "simulation/disk.h"
#include "simulation/scenarios.h"

namespace packhorse::simulation {

namespace {

namespace fs = std::filesystem;

struct Options {
  std::uint64_t first = 0, seeds = 1000, jobs = 0;
  std::string scenario;
  bool trace = false, twice = false;
};

struct Result {
  std::uint64_t hash = 0, steps = 0;
  std::string broken;  ///< what was promised, if anything
};

constexpr std::uint64_t kLargeOnceIn = 16;

class Worlds {
 public:
  explicit Worlds(const fs::path& root)
      : disk_(root / "disk"),
        small_(make_sample(root / "small", {})),
        splits_(make_sample(root / "splits", {.splits = true})),
        medium_(make_sample(root / "medium", {.side = 350, .largest = 350})),
        large_(make_sample(root / "large", {.largest = 1700})) {
    disk_root = disk_.native();
  }

  Result run(std::uint64_t seed, const Options& options, bool trace) {
    Result result;
    remove_tree(disk_);
    make_directories(disk_);
    World world(seed, trace);
    std::vector<Scenario> scenarios(all_scenarios().begin(), all_scenarios().end());
    if (!options.scenario.empty())
      std::erase_if(scenarios, [&](const Scenario& one) { return one.name != options.scenario; });
    const Scenario& scenario = scenarios.at(world.chance.below(scenarios.size()));
    const Sample& sample = sample_for(scenario, world.chance);
    world.say(fmt::format("seed {}: {}", seed, scenario.name));
    try {
      scenario.run(world, sample, disk_);
    } catch (const Violation& violation) {
      result.broken = fmt::format("{}: {}", scenario.name, violation.what());
    }
    world.say(result.broken.empty() ? "all is well" : "BROKEN: " + result.broken);
    result.hash = world.hash();
    result.steps = world.steps();
    return result;
  }

 private:
  const fs::path disk_;
  const Sample& sample_for(const Scenario& scenario, Chance& chance) const;

  const Sample small_, splits_, medium_, large_;
};

const Sample& Worlds::sample_for(const Scenario& scenario, Chance& chance) const {
  if (chance.once_in(kLargeOnceIn)) return large_;
  if (scenario.needs_bytes) return medium_;
  return chance.once_in(4) ? splits_ : small_;
}

/// Handing over is faster on one.
void stay_on_a_cpu(std::uint64_t job) {
  cpu_set_t cpus, one;
  sched_getaffinity(0, sizeof cpus, &cpus);
  std::uint64_t left = job % static_cast<std::uint64_t>(CPU_COUNT(&cpus));
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &cpus) || left-- > 0) continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

/// Runs every `jobs`th seed from the `job`th on. Returns the number of broken ones.
std::uint64_t run_share(const Options& options, std::uint64_t job) {
  stay_on_a_cpu(job);
  shared = static_cast<Shared*>(
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const ScratchDirectory root("simulation", fs::is_directory("/dev/shm") ? "/dev/shm" : "");
  Worlds worlds(root.path());
  std::uint64_t broken = 0, steps = 0;
  for (std::uint64_t i = job; i < options.seeds; i += options.jobs) {
    const std::uint64_t seed = options.first + i;
    Result result = worlds.run(seed, options, options.trace);
    steps += result.steps;
    if (options.twice && worlds.run(seed, options, false).hash != result.hash)
      result.broken += " (the second run of this seed is another)";
    if (result.broken.empty()) continue;
    ++broken;
    fmt::print("seed {} is broken: {}\n", seed, result.broken);
    std::fflush(stdout);
  }
  if (options.trace) fmt::print("{} steps\n", steps);
  return broken;
}

void set_surroundings() {
  for (const char* name : {"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "TMPDIR"})
    ::unsetenv(name);
  ::setenv("AWS_ENDPOINT_URL_S3", "http://storage.test", 1);
  ::setenv("AWS_ACCESS_KEY_ID", "key", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
  ::setenv("AWS_REGION", "here", 1);
  ::setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
  ::setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
}

Options parse(int argc, char** argv) {
  Options options;
  const auto number = [&](int& i) { return i + 1 < argc ? std::stoull(argv[++i]) : 0; };
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--first") {
      options.first = number(i);
    } else if (word == "--seeds") {
      options.seeds = number(i);
    } else if (word == "--jobs") {
      options.jobs = number(i);
    } else if (word == "--scenario" && i + 1 < argc) {
      options.scenario = argv[++i];
    } else if (word == "--trace") {
      options.trace = true;
    } else if (word == "--twice") {
      options.twice = true;
    } else {
      fmt::print(stderr, "simulate: what is '{}'?\n", word);
      std::exit(2);
    }
  }
  const auto scenarios = all_scenarios();
  if (!options.scenario.empty() &&
      std::none_of(scenarios.begin(), scenarios.end(),
                   [&](const Scenario& one) { return one.name == options.scenario; })) {
    fmt::print(stderr, "simulate: there is no scenario '{}'\n", options.scenario);
    std::exit(2);
  }
  if (options.jobs == 0) {
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof cpus, &cpus);
    options.jobs = static_cast<std::uint64_t>(CPU_COUNT(&cpus));
  }
  options.jobs = std::min(options.jobs, options.seeds);
  return options;
}

}  // namespace

}  // namespace packhorse::simulation

int main(int argc, char** argv) {
  using namespace packhorse::simulation;
  const Options options = parse(argc, argv);
  set_surroundings();
  bool all_well = options.jobs > 1 || run_share(options, 0) == 0;
  for (std::uint64_t job = 0; job < options.jobs && options.jobs > 1; ++job) {
    if (::fork() == 0) std::_Exit(run_share(options, job) == 0 ? 0 : 1);
  }
  for (int status = 0; ::wait(&status) > 0;) all_well = all_well && status == 0;
  if (all_well) fmt::print("{} seeds from {}: all is well\n", options.seeds, options.first);
  return all_well ? 0 : 1;
}
