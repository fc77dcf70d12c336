#include "cpus.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>

#include "packhorse/pack.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

std::optional<double> number_in(const std::string& text) try {
  const double number = std::stod(text);
  return number > 0 ? std::optional(number) : std::nullopt;
} catch (const std::exception&) {
  return std::nullopt;  // "max", and -1 above: no quota
}

std::optional<double> quota_of(const std::string& quota, const std::string& period) {
  const std::optional<double> time = number_in(quota), every = number_in(period);
  return time && every ? std::optional(*time / *every) : std::nullopt;
}

std::optional<double> quota_v2(const fs::path& group) {
  std::string quota, period;
  std::ifstream(group / "cpu.max") >> quota >> period;
  return quota_of(quota, period);
}

std::optional<double> quota_v1(const fs::path& group) {
  std::string quota, period;
  std::ifstream(group / "cpu.cfs_quota_us") >> quota;
  std::ifstream(group / "cpu.cfs_period_us") >> period;
  return quota_of(quota, period);
}

/// The least quota of `group` and those above it, up to `mount`.
template <class QuotaOf>
double least_quota(const fs::path& mount, std::string_view group, const QuotaOf& quota_of_group) {
  double least = 0;
  fs::path at = (mount / fs::path(group).relative_path()).lexically_normal();
  if (!at.native().starts_with(mount.native())) at = mount;  // seen from inside a namespace
  while (true) {
    if (const std::optional<double> quota = quota_of_group(at))
      least = least == 0 ? *quota : std::min(least, *quota);
    if (at == mount || !at.has_relative_path()) return least;
    at = at.parent_path();
  }
}

}  // namespace

double cgroup_quota(const fs::path& mount, std::string_view membership) {
  double quota = 0;
  const auto take = [&](double found) {
    if (found > 0) quota = quota == 0 ? found : std::min(quota, found);
  };
  while (!membership.empty()) {
    const std::string_view line = membership.substr(0, membership.find('\n'));
    membership.remove_prefix(std::min(membership.size(), line.size() + 1));
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view group = line.substr(second + 1);
    if (controllers.empty()) take(least_quota(mount, group, quota_v2));
    for (const char* folder : {"cpu", "cpu,cpuacct", "cpuacct,cpu"}) {
      if (controllers == folder) {
        take(least_quota(mount / folder, group, quota_v1));
        take(least_quota(mount / "cpu", group, quota_v1));
      }
    }
  }
  return quota;
}

int available_cpus() {
  int cpus = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) cpus = CPU_COUNT(&mask);
  std::ifstream file("/proc/self/cgroup");
  const std::string membership{std::istreambuf_iterator<char>(file), {}};
  const double quota = cgroup_quota("/sys/fs/cgroup", membership);
  if (quota > 0) cpus = std::min(cpus, static_cast<int>(std::ceil(quota)));
  return std::max(cpus, 1);
}

}  // namespace packhorse
