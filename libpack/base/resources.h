#pragma once

#include <cstdint>
#include <vector>

namespace packhorse {

/// What this process may use of the machine. Each call reads the process's control groups (versions
/// 1 and 2) and those above them again. Thread-safe.
///
/// Sources: sched_setaffinity(2), cgroups(7), "Control Group v2" and "Memory Resource Controller"
/// in the kernel's documentation, proc(5).

/// The CPUs of the affinity mask, increasing. Throws Error(kIo).
std::vector<int> allowed_cpus();

/// Threads to run: the affinity mask's CPUs, bounded by the quota of CPU time. At least 1.
int available_cpus();

/// Bytes of memory it may still take: what is free in the machine or can be freed without swapping,
/// bounded by the limits. Files that were read once and stay cached count as free.
std::uint64_t available_memory();

/// Bytes of memory that this process has taken and that no file backs (RssAnon).
std::uint64_t anonymous_memory();

}  // namespace packhorse
