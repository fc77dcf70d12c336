#include "base/resources.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/control_groups.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostCpus = 1 << 16;  // Linux is built for 8192 at most

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

std::vector<int> allowed_cpus() {
  std::vector<unsigned long> mask(kMostCpus / (8 * sizeof(unsigned long)));
  const std::size_t bytes = mask.size() * sizeof(unsigned long);
  auto* const set = reinterpret_cast<cpu_set_t*>(mask.data());
  if (::sched_getaffinity(0, bytes, set) != 0)
    throw_errno("ask which CPUs this process may use", {});
  std::vector<int> cpus;
  for (std::size_t cpu = 0; cpu < kMostCpus; ++cpu)
    if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(static_cast<int>(cpu));
  return cpus;
}

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
