#pragma once

#include "packhorse/sources/source.h"

namespace packhorse {

/// A folder of class folders, at any depth, or a folder of split folders ("train", "val", ...) that
/// hold class folders.
namespace folder {
bool probe(const std::filesystem::path& path);
std::unique_ptr<Source> open(const std::filesystem::path& path);
}  // namespace folder

inline constexpr SourceKind kFolderSource = {"folder", "a folder of class folders", folder::probe,
                                             folder::open};

}  // namespace packhorse
