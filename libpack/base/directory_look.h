#pragma once

#include <filesystem>
#include <functional>

namespace packhorse {

/// Looks at what is directly in a folder, in the file system's order, until `look` is false. Holds
/// no names, however many there are; `look` may see an entry twice when a signal arrives. Throws
/// Error(kNotFound | kIo).
void look_in(const std::filesystem::path& folder,
             const std::function<bool(const std::filesystem::directory_entry&)>& look);

}  // namespace packhorse
