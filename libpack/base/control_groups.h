#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace packhorse {

// `mount` is where control groups are mounted, `membership` the text of /proc/self/cgroup. In a
// container, the group named there often does not exist under the mount; the mount's root is then
// the process's own group.

/// CPUs that a process's control groups leave it: the smallest quota of its own group and all
/// groups above it (v2: cpu.max; v1: cpu.cfs_quota_us over cpu.cfs_period_us). None where there is
/// no quota.
std::optional<double> cgroup_cpus(const std::filesystem::path& mount, std::string_view membership);

/// Bytes of memory that the same groups leave it: the smallest of each limit less what is in use
/// (v2: memory.max, memory.current; v1: memory.limit_in_bytes, memory.usage_in_bytes), not counting
/// inactive cached files. None where there is no limit.
std::optional<std::uint64_t> cgroup_memory(const std::filesystem::path& mount,
                                           std::string_view membership);

/// The number after a name in a file of names and numbers, such as /proc/meminfo; 0 when the name
/// is not there.
std::uint64_t field_in(const std::filesystem::path& path, std::string_view name);

}  // namespace packhorse
