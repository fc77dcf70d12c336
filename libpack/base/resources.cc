#include "packhorse/base/resources.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "base/control_groups.h"

namespace packhorse {

namespace {

constexpr const char* kMount = "/sys/fs/cgroup";

std::string own_membership() {
  std::ifstream file("/proc/self/cgroup");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int available_cpus() {
  int cpus = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) cpus = CPU_COUNT(&mask);
  if (const auto quota = cgroup_cpus(kMount, own_membership()))
    cpus = std::min(cpus, static_cast<int>(std::ceil(*quota)));
  return std::max(cpus, 1);
}

std::uint64_t available_memory() {
  const std::uint64_t machine = 1024 * field_in("/proc/meminfo", "MemAvailable:");
  return std::min(machine, cgroup_memory(kMount, own_membership()).value_or(machine));
}

std::uint64_t anonymous_memory() { return 1024 * field_in("/proc/self/status", "RssAnon:"); }

}  // namespace packhorse
