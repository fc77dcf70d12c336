#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <vector>

/// What the sources made of files on a disk share.
namespace packhorse {

/// Threads that list files: more than there are processors, as on slow storage they mostly wait.
int listing_threads();

/// Nanoseconds of the last change.
std::int64_t stamp_of(const struct stat& status);

/// A stamp that differs when `stamp` or `value` does; never 0.
std::int64_t mix_stamp(std::int64_t stamp, std::uint64_t value);

/// Reads a whole file. Throws Error(kIo) when it has not `size` bytes, before or after.
void read_listed(const std::filesystem::path& path, std::uint64_t size,
                 std::vector<std::byte>& out);
/// The same when its size is not known alone. Throws Error(kIo) when it changes meanwhile.
void read_unlisted(const std::filesystem::path& path, std::vector<std::byte>& out);

/// Asks the kernel to bring the file to memory. Never throws. Returns whether that took long enough
/// to be worth doing ahead: whether the storage is slow and did not have the directory entry at
/// hand.
bool prefetch_file(const std::filesystem::path& path);

}  // namespace packhorse
