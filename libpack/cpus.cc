#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

#include "packhorse/pack.h"

namespace packhorse {

namespace {

/// CPUs the cgroup's quota pays for (v2: cpu.max, v1: cpu.cfs_*), or 0 where there is no quota.
/// Inside a container the process sees its own group at the root of the mount.
double cgroup_quota() {
  std::string quota, period;
  if (std::ifstream v2("/sys/fs/cgroup/cpu.max"); v2 >> quota >> period) {
    return quota == "max" ? 0 : std::stod(quota) / std::stod(period);
  }
  std::ifstream v1_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (v1_quota >> quota && v1_period >> period && quota != "-1") {
    return std::stod(quota) / std::stod(period);
  }
  return 0;
}

}  // namespace

int available_cpus() {
  int cpus = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) cpus = CPU_COUNT(&mask);
  const double quota = cgroup_quota();
  if (quota > 0) cpus = std::min(cpus, static_cast<int>(std::ceil(quota)));
  return std::max(cpus, 1);
}

}  // namespace packhorse
