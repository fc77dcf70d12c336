#pragma once

#include <filesystem>
#include <string_view>

namespace packhorse {

/// CPUs that the control groups of a process leave it: the least quota of its group and all above
/// it (v2: cpu.max; v1: cpu.cfs_quota_us over cpu.cfs_period_us). 0 where there is none. `mount` is
/// where control groups are mounted, `membership` the text of /proc/self/cgroup. In a container the
/// group named there often does not exist under the mount, whose root then is the process's own.
double cgroup_quota(const std::filesystem::path& mount, std::string_view membership);

}  // namespace packhorse
