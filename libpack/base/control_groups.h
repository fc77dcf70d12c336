#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace packhorse {

// `mount` is where control groups are mounted, `membership` the text of /proc/self/cgroup. In a
// container the group named there often does not exist under the mount, whose root then is the
// process's own.

/// CPUs that the control groups of a process leave it: the least quota of its group and all above
/// it (v2: cpu.max; v1: cpu.cfs_quota_us over cpu.cfs_period_us). None where there is no quota.
std::optional<double> cgroup_cpus(const std::filesystem::path& mount, std::string_view membership);

/// Bytes of memory that they leave it: the least, over the same groups, of the limit less what is
/// in use (v2: memory.max, memory.current; v1: memory.limit_in_bytes, memory.usage_in_bytes), not
/// counting inactive cached files. None where there is no limit.
std::optional<std::uint64_t> cgroup_memory(const std::filesystem::path& mount,
                                           std::string_view membership);

/// The number behind a name in a file of words and numbers, such as /proc/meminfo; 0 when there is
/// none.
std::uint64_t field_in(const std::filesystem::path& path, std::string_view name);

}  // namespace packhorse
