#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace packhorse {

/// What says that flock() on the file system of `path` excludes only processes of this machine,
/// though others may have it mounted: "nfs4 with the mount option local_lock=all". Nothing where
/// locks hold between machines, and where no other machine is.
std::optional<std::string> local_locks(const std::filesystem::path& path);

/// The same from the text of /proc/self/mountinfo (proc_pid_mountinfo(5)), for an absolute path
/// without links.
std::optional<std::string> local_locks(std::string_view mountinfo,
                                       const std::filesystem::path& path);

}  // namespace packhorse
