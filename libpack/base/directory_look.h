#pragma once

#include <filesystem>
#include <functional>

#include "packhorse/base/error.h"

namespace packhorse {

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
