#pragma once

#include <filesystem>
#include <vector>

namespace packhorse {

/// The images in a folder and below it, by the endings of their names, in byte order, for any
/// layout. NumPy files are images if there are no others. Files of systems and archivers, and links
/// to folders, are skipped. Throws Error(kNotFound) when there are none, Error(kIo).
std::vector<std::filesystem::path> find_images(const std::filesystem::path& folder);

}  // namespace packhorse
