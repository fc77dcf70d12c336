#pragma once

#include <cstdint>
#include <filesystem>

namespace packhorse::reader {

/// A file's pages: how many there are, and how many of them are in the page cache.
struct Pages {
  std::uint64_t all = 0, resident = 0;
};

/// Reads a file from end to end.
void load_file(const std::filesystem::path& path);
/// Writes a file's dirty pages back, asks the kernel to drop all its pages, and counts those that
/// stay.
Pages drop_file(const std::filesystem::path& path);

/// Makes the kernel forget the names and inodes of all files that nobody has open, and the disk
/// blocks that hold them. Those are pages like all others, so everything in the page cache that can
/// be dropped is. Throws Error(kIo).
void drop_names();

}  // namespace packhorse::reader
