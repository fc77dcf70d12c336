#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/file.h"
#include "storage/cache/beneath.h"
#include "storage/cache/runs_header.h"

/// The two files that the cache keeps for one remote file, DIR/ab/ab12....data and .runs. Whoever
/// opens them, makes them or removes them follows these rules, for the others may do any of it at
/// the same time, and may die at any time:
///
/// 1. The .runs file is made first, and synced with its header before there is a .data file: so
///    data without a header that names it never exists, and what has such a header is the cache's.
/// 2. To open the files, a process holds the byte kOpening of the .runs file alone, waits for a
///    shared lease, and looks whether the name still leads to the file it has locked; if not, it
///    begins again.
/// 3. Only a process that has turned its lease into one of its own, which fails while anybody else
///    has the files open, makes them or makes them anew.
/// 4. To remove the files, a process takes the lease alone, without waiting, looks at the name as
///    in rule 2, and removes the .data file before the .runs file.
namespace packhorse {

/// Open and leased.
struct ShardFiles {
  UniqueFd folder;  ///< DIR/ab
  Beneath runs, data;
  UniqueFd runs_fd, data_fd;
  RunsHeader header;
};

/// What is found of a file without opening it for good.
struct FoundShard {
  RunsHeader header;
  std::uint64_t stored = 0;     ///< bytes of the runs that are there
  std::uint64_t allocated = 0;  ///< what they and claimed runs take, or will take, on the disk
  bool leased = false;
};

enum class Removal : std::uint8_t { kRemoved, kLeased, kNotThere };

/// DIR/ab for a hash, made if it is missing and `make` is set; nothing if it is missing, or not
/// this user's own directory and `make` is not set. Throws Error(kIo | kNoSpace).
UniqueFd open_folder(int directory, const std::filesystem::path& path, std::string_view sha256,
                     bool make);

/// Opens the files, which are made if they are missing or damaged. Throws Error(kIo) when others
/// have them open and they are damaged, or the size is another one; kNoSpace.
ShardFiles open_shard(int directory, const std::filesystem::path& path, const std::string& sha256,
                      std::uint64_t bytes);
/// Opens files that are there, whole, and not about to be removed. Throws Error(kIo).
std::optional<ShardFiles> open_shard_if_there(int directory, const std::filesystem::path& path,
                                              const std::string& sha256);

/// Looks at the files in the open folder `folder`; nothing if they are not the cache's own. Throws
/// Error(kIo).
std::optional<FoundShard> look_at_shard(int folder, const std::filesystem::path& path,
                                        const std::string& sha256);
Removal remove_shard(int folder, const std::filesystem::path& path, const std::string& sha256);

/// Notes that a file is being used now.
void note_use(const ShardFiles& files);

}  // namespace packhorse
