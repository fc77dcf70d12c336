#pragma once

#include <filesystem>
#include <functional>
#include <system_error>

#include "packhorse/base/error.h"

/// What lies at a path, by one look.
namespace packhorse {

/// Whether a regular file, a folder or anything is there, through links; false where that cannot be
/// seen. They do not throw.
inline bool is_file(const std::filesystem::path& path) {
  std::error_code code;
  return std::filesystem::is_regular_file(path, code);
}
inline bool is_folder(const std::filesystem::path& path) {
  std::error_code code;
  return std::filesystem::is_directory(path, code);
}
inline bool path_exists(const std::filesystem::path& path) {
  std::error_code code;
  return std::filesystem::exists(path, code);
}

/// The folder that holds what the path names: "." where it names none.
inline std::filesystem::path folder_around(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

/// Looks at what is directly in a folder, in the file system's order, until `look` is false. Holds
/// no names, however many there are; `look` may see an entry twice when a signal arrives. Throws
/// Error(kNotFound | kIo).
inline void look_in(const std::filesystem::path& folder,
                    const std::function<bool(const std::filesystem::directory_entry&)>& look) {
  while (true) {
    std::error_code code;
    for (std::filesystem::directory_iterator it(folder, code), end; !code && it != end;
         it.increment(code))
      if (!look(*it)) return;
    if (!code) return;
    if (code != std::errc::interrupted) throw_code(code, "list", folder);
  }
}

}  // namespace packhorse
