#pragma once

#include <cstdint>

namespace packhorse {

/// What this process may use of the machine: thread-safe, read anew at each call, from the
/// process's control groups (versions 1 and 2) and those above them.
///
/// Sources: cgroups(7), "Control Group v2" and "Memory Resource Controller" in the kernel's
/// documentation, proc(5).

/// How many threads: its affinity mask, bounded by the quota of CPU time. At least 1.
int available_cpus();

/// How many bytes of memory more: what is free in the machine or can be freed without swapping,
/// bounded by the limits. Files that were read once and stay cached count as free.
std::uint64_t available_memory();

/// Bytes of memory that this process has taken and that no file backs (RssAnon).
std::uint64_t anonymous_memory();

}  // namespace packhorse
