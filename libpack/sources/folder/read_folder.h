#pragma once

#include <filesystem>
#include <memory>

#include "sources/fields/field_set.h"
#include "sources/layout/source_contents.h"

namespace packhorse {

/// Reads a folder and all that is in it, with several threads. Links are followed, except links to
/// a folder they lie in, even one above `root`. Folders that may not be read are rejects; so is
/// what lies in more than naming::kMostFolders folders. Throws Error(kNotFound | kIo) when `root`,
/// or any folder for another reason, cannot be read: then its classes cannot be known.
SourceContents read_folder(const std::filesystem::path& root, const FieldSet& fields,
                           const std::shared_ptr<EntryMemory>& memory);

/// Whether a file that is not named like an image is one by its first bytes. A file that cannot be
/// read is taken for an image, so that packing rejects it by name and it is not lost.
bool looks_like_image(int folder, const char* name);

}  // namespace packhorse
