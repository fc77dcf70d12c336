#pragma once

#include <filesystem>
#include <string>

#include "dataset/dataset_directory.h"
#include "packhorse/base/progress.h"
#include "packhorse/dataset/manifest.h"

namespace packhorse {

/// Copies a file of a dataset at a URL into the new file `to`, as it is there, and returns
/// the SHA-256 of what came. Throws as RemoteFiles::copy() does, and Error(kNoSpace).
std::string copy_from_afar(const DatasetDirectory& dataset, const std::string& name,
                           std::uint64_t bytes, const std::filesystem::path& to);

/// Copies a file of a dataset, wherever that is, into the new file `to`; counts its bytes. It must
/// be the one in the manifest: else Error(kCorrupt), after a second try where it comes from a URL.
void copy_checked(const DatasetDirectory& dataset, const FileRecord& file,
                  DatasetDirectory::Links links, const std::filesystem::path& to,
                  Progress& progress);

/// Throws Error(kCorrupt): a file is not the one in the manifest.
[[noreturn]] void refuse_copied(const DatasetDirectory& dataset, const std::string& file);

}  // namespace packhorse
