#pragma once

#include <filesystem>
#include <vector>

namespace packhorse {

/// The images in a folder and those below it, by the endings of their names, in byte order,
/// whatever the layout. NumPy files are images where there are no others. What systems and
/// archivers leave behind is passed over, and links to folders. Throws Error(kNotFound) when there
/// are none, Error(kIo).
std::vector<std::filesystem::path> find_images(const std::filesystem::path& folder);

}  // namespace packhorse
