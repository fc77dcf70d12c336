#include "simulation/scenarios.h"

#include <fmt/format.h>

#include <array>

#include "base/hash.h"
#include "packhorse/storage/remote.h"

namespace packhorse::simulation {

namespace {

constexpr std::array kScenarios = {
    Scenario{"tasks-to-bucket", tasks_to_bucket},
    Scenario{"rivals-to-bucket", rivals_to_bucket},
    Scenario{"tasks-on-disk", tasks_on_disk},
    Scenario{"rivals-on-disk", rivals_on_disk},
    Scenario{"copies-up", copies_up},
    Scenario{"copies-down", copies_down},
    Scenario{"copies-across", copies_across},
    Scenario{"writers-of-a-key", writers_of_a_key},
    Scenario{"readers-of-a-cache", readers_of_a_cache, true},
};

}  // namespace

std::span<const Scenario> all_scenarios() { return kScenarios; }

PackOptions pack_options() {
  PackOptions options;
  options.format = "wds";
  options.plan.shard_samples = 4;
  options.jobs = 1;
  return options;
}

PackOptions other_options() {
  PackOptions options = pack_options();
  options.plan.seed = 1;
  return options;
}

void begin_program() { enable_remote({}); }

void put_sample(World& world, const Sample& sample, const std::string& prefix) {
  for (const auto& [name, content] : sample.files)
    world.bucket.fill(prefix + name, content, sha256(as_bytes(content)));
}

bool is_error(const Ending& ending, ErrorKind kind) {
  return !ending.killed && ending.code == 1 + static_cast<int>(kind);
}

std::uint32_t any_machine(World& world) {
  return static_cast<std::uint32_t>(world.chance.below(kMostMachines));
}

std::filesystem::path staging_on(const std::filesystem::path& disk, std::uint32_t machine) {
  return disk / fmt::format("machine-{}", machine) / "d.partial";
}

}  // namespace packhorse::simulation
