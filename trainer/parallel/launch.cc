#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "packhorse/base/error.h"
#include "packhorse/trainer/parallel/processes.h"

namespace packhorse::trainer {
namespace {

using Lookup = std::function<const char*(const char*)>;

class Environment {
 public:
  explicit Environment(const Lookup& lookup) : lookup_(lookup) {}

  bool has(const char* name) const { return lookup_(name) != nullptr; }
  std::string text(const char* name, const std::string& otherwise) const {
    const char* value = lookup_(name);
    return value == nullptr ? otherwise : value;
  }
  int number(const char* name) const {
    if (!has(name)) fail(fmt::format("{} is not set", name));
    const std::string_view value = lookup_(name);
    const int number = parse_number<int>(value).value_or(-1);
    if (number < 0) fail(fmt::format("{} is '{}'", name, value));
    return number;
  }
  int number(const char* name, int otherwise) const { return has(name) ? number(name) : otherwise; }
  std::uint16_t port(int otherwise) const {
    const int port = number("MASTER_PORT", otherwise);
    if (port > 65535) fail(fmt::format("MASTER_PORT is {}", port));
    return static_cast<std::uint16_t>(port);
  }
  [[noreturn]] static void fail(const std::string& why) {
    throw Error(ErrorKind::kUsage,
                "the environment variables for several processes are wrong: " + why, {},
                "start it with `torchrun --no-python` or `srun`, or unset RANK and WORLD_SIZE to "
                "train in one process");
  }

 private:
  const Lookup& lookup_;
};

/// What a list such as "4(x2),3" (two nodes with 4 tasks, one with 3) says of a node.
int tasks_on_node(const std::string& list, int node) {
  const auto fail = [&] {
    Environment::fail(fmt::format("SLURM_STEP_TASKS_PER_NODE is '{}'", list));
  };
  const char* at = list.data();
  const char* const end = at + list.size();
  const auto number = [&] {
    int value = 0;
    const auto [after, error] = std::from_chars(at, end, value);
    if (error != std::errc{} || value < 1) fail();
    at = after;
    return value;
  };
  while (true) {
    const int tasks = number();
    int nodes = 1;
    if (std::string_view(at, end).starts_with("(x")) {
      at += 2;
      nodes = number();
      if (at == end || *at++ != ')') fail();
    }
    if (node < nodes) return tasks;
    node -= nodes;
    if (at == end || *at++ != ',') fail();
  }
}

/// `srun` sets these variables for each of its tasks; an allocation's shell has no step.
Launch of_slurm(const Environment& environment) {
  Launch launch;
  launch.rank = environment.number("SLURM_PROCID");
  launch.world = environment.number("SLURM_STEP_NUM_TASKS");
  launch.local_rank = environment.number("SLURM_LOCALID");
  const std::string tasks = environment.text("SLURM_STEP_TASKS_PER_NODE", "1");
  launch.local_world = tasks_on_node(tasks, environment.number("SLURM_NODEID", 0));
  launch.host =
      environment.text("MASTER_ADDR", environment.text("SLURM_LAUNCH_NODE_IPADDR", launch.host));
  launch.port = environment.port(20000 + environment.number("SLURM_JOB_ID", 0) % 20000);
  launch.attempt = fmt::format("{}.{}", environment.text("SLURM_STEP_ID", "0"),
                               environment.text("SLURM_RESTART_COUNT", "0"));
  return launch;
}

Launch of_torchrun(const Environment& environment) {
  Launch launch;
  launch.rank = environment.number("RANK");
  launch.world = environment.number("WORLD_SIZE");
  launch.local_rank = environment.number("LOCAL_RANK", launch.rank);
  launch.local_world = environment.number("LOCAL_WORLD_SIZE", launch.world);
  launch.host = environment.text("MASTER_ADDR", launch.host);
  launch.port = environment.port(launch.port);
  launch.served = environment.text("TORCHELASTIC_USE_AGENT_STORE", "") == "True";
  launch.attempt = environment.text("TORCHELASTIC_RESTART_COUNT", "0");
  return launch;
}

}  // namespace

std::optional<Launch> find_launch(const Lookup& variable) {
  const Lookup lookup = variable ? variable : [](const char* name) { return std::getenv(name); };
  const Environment environment(lookup);
  Launch launch;
  if (environment.has("RANK") || environment.has("WORLD_SIZE")) {
    launch = of_torchrun(environment);
  } else if (environment.has("SLURM_STEP_ID") && environment.has("SLURM_STEP_NUM_TASKS")) {
    launch = of_slurm(environment);
  }
  if (launch.world < 1 || launch.rank >= launch.world || launch.local_rank >= launch.local_world) {
    Environment::fail(fmt::format("process {} of {}, on its machine {} of {}", launch.rank,
                                  launch.world, launch.local_rank, launch.local_world));
  }
  return launch.world > 1 ? std::optional(launch) : std::nullopt;
}

}  // namespace packhorse::trainer
