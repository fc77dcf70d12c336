#include <map>

#include "packhorse/trainer/parallel/processes.h"
#include "support/support.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

std::optional<Launch> launch_in(std::map<std::string, std::string> environment) {
  return find_launch([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

}  // namespace

TEST_CASE("launch: alone without a launcher, and in a world of one") {
  CHECK_FALSE(launch_in({}));
  CHECK_FALSE(launch_in({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}}));
  // The shell of an allocation is not a step of it.
  CHECK_FALSE(launch_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "7"}}));
}

TEST_CASE("launch: what torchrun says") {
  const auto launch = launch_in({{"RANK", "5"},
                                 {"WORLD_SIZE", "8"},
                                 {"LOCAL_RANK", "1"},
                                 {"LOCAL_WORLD_SIZE", "4"},
                                 {"MASTER_ADDR", "node1"},
                                 {"MASTER_PORT", "1234"},
                                 {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                 {"TORCHELASTIC_RESTART_COUNT", "2"}});
  REQUIRE(launch);
  CHECK(launch->rank == 5);
  CHECK(launch->world == 8);
  CHECK(launch->local_rank == 1);
  CHECK(launch->local_world == 4);
  CHECK(launch->host == "node1");
  CHECK(launch->port == 1234);
  CHECK(launch->served);
  CHECK(launch->attempt == "2");
}

TEST_CASE("launch: what srun says") {
  const auto launch = launch_in({{"SLURM_PROCID", "3"},
                                 {"SLURM_STEP_NUM_TASKS", "4"},
                                 {"SLURM_STEP_ID", "1"},
                                 {"SLURM_LOCALID", "1"},
                                 {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                                 {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"},
                                 {"SLURM_JOB_ID", "40007"}});
  REQUIRE(launch);
  CHECK(launch->rank == 3);
  CHECK(launch->world == 4);
  CHECK(launch->local_rank == 1);
  CHECK(launch->local_world == 2);
  CHECK(launch->host == "10.0.0.1");
  CHECK(launch->port == 20007);
  CHECK_FALSE(launch->served);
}

TEST_CASE("launch: nodes of srun may have different numbers of processes") {
  const auto tasks_of = [](const char* list, const char* node) {
    return launch_in({{"SLURM_PROCID", "9"},
                      {"SLURM_STEP_NUM_TASKS", "11"},
                      {"SLURM_STEP_ID", "0"},
                      {"SLURM_LOCALID", "1"},
                      {"SLURM_NODEID", node},
                      {"SLURM_STEP_TASKS_PER_NODE", list}})
        ->local_world;
  };
  CHECK(tasks_of("4(x2),3", "0") == 4);
  CHECK(tasks_of("4(x2),3", "1") == 4);
  CHECK(tasks_of("4(x2),3", "2") == 3);
  CHECK(tasks_of("2,6,3", "1") == 6);
  for (const char* wrong : {"", "4(x2),3,", "4(x", "4(x2", "0", "a", "4,3"}) {
    CAPTURE(wrong);
    CHECK(test::kind_of_error([&] { tasks_of(wrong, "3"); }) == ErrorKind::kUsage);
  }
}

TEST_CASE("launch: half an environment is an error") {
  using Environment = std::map<std::string, std::string>;
  for (const Environment& environment :
       {Environment{{"RANK", "0"}}, Environment{{"WORLD_SIZE", "2"}},
        Environment{{"RANK", "2"}, {"WORLD_SIZE", "2"}},
        Environment{{"RANK", "x"}, {"WORLD_SIZE", "2"}},
        Environment{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "70000"}}}) {
    CHECK(test::kind_of_error([&] { launch_in(environment); }) == ErrorKind::kUsage);
  }
}

TEST_CASE("processes: one alone sums, votes and agrees with itself") {
  Processes alone;
  CHECK(alone.first());
  CHECK(alone.size() == 1);
  CHECK(alone.flags(2) == 2);
  CHECK(alone.any(true));
  CHECK_FALSE(alone.any(false));
  alone.check_same("settings", "x");
}

TEST_CASE("processes: nobody at the address is an error that names it") {
  const Launch launch{.rank = 1, .world = 2, .local_rank = 1, .local_world = 2, .port = 1};
  CHECK(test::kind_of_error([&] { Processes(launch, {}, std::chrono::seconds(1)); }) ==
        ErrorKind::kIo);
}
