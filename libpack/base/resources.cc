#include "packhorse/base/resources.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "base/control_groups.h"
#include "packhorse/base/cpu_binding.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr const char* kMount = "/sys/fs/cgroup";

std::string own_membership() {
  std::ifstream file("/proc/self/cgroup");
  return {std::istreambuf_iterator<char>(file), {}};
}

int cpus_by_affinity() {
  try {
    return static_cast<int>(allowed_cpus().size());
  } catch (const Error&) {  // a sandbox may forbid the question
    return static_cast<int>(std::thread::hardware_concurrency());
  }
}

}  // namespace

int available_cpus() {
  int cpus = cpus_by_affinity();
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
