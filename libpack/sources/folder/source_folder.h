#pragma once

#include "packhorse/sources/source.h"
#include "sources/layout/source_contents.h"

namespace packhorse {

/// A folder of class folders, at any depth, or a folder of split folders ("train", "val", ...) that
/// hold class folders.
namespace folder {
bool probe(const std::filesystem::path& path);
std::unique_ptr<Source> open(const std::filesystem::path& path);
/// Refusals tell those readings, too.
std::unique_ptr<Source> open_with(const std::filesystem::path& path,
                                  SourceContents::AnnotatedReadings readings);
}  // namespace folder

inline constexpr SourceKind kFolderSource = {"folder", "a folder of class folders", folder::probe,
                                             folder::open};

}  // namespace packhorse
