#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

/// Opens and checks what lies in a cache directory, where others may have put anything. No link is
/// followed, and only regular files with one name that belong to this user are taken for the
/// cache's own.
namespace packhorse {

/// A name in a directory that somebody else holds open.
struct Beneath {
  int directory = -1;
  std::string name;
  std::filesystem::path path;  ///< for messages
};

/// openat(2), which waits for no pipe, and makes files that only this user can read. When it fails,
/// it returns nothing and leaves errno set.
UniqueFd open_beneath(const Beneath& file, int flags);
/// Another description of an open file, which may have lost its name. Throws Error(kIo); `path` is
/// for messages.
UniqueFd open_again(int fd, int flags, const std::filesystem::path& path);

/// Which file an open one is, whatever its name.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};
FileIdentity identity_of(int fd);

/// Whether an open file is regular, belongs to this user, and has one name.
bool is_own_file(int fd);
/// The same for a name; false, too, when nothing has it.
bool is_own_file(const Beneath& file);
/// Whether the name leads to the open file: it may have been removed or replaced since.
bool leads_to(const Beneath& file, int fd);

/// Throws Error(kIo): what has this name is not the cache's.
[[noreturn]] void refuse_foreign(const std::filesystem::path& path);

/// The names in an open directory, without "." and "..", in no order. Throws Error(kIo).
std::vector<std::string> names_in(int directory, const std::filesystem::path& path);

/// Whether a text is `digits` hexadecimal digits in lower case.
bool is_hex(std::string_view text, std::size_t digits);

}  // namespace packhorse
