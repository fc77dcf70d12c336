#pragma once

#include <filesystem>

#include "base/file.h"

namespace packhorse {

/// Opens a file without a name for reading and writing, which goes with its descriptor or with the
/// process, however that ends. It lies in `directory`, or in the nearest one above it that exists,
/// which `directory` then names; if empty, in the system's place for temporary files. Throws
/// Error(kIo) with the directory.
UniqueFd open_unnamed_file(std::filesystem::path& directory);

/// What time it is by the clock that stamps the files of a directory, which may be another
/// machine's: that of a file made there for a moment. Throws Error(kIo) where none can be made.
std::filesystem::file_time_type storage_time(std::filesystem::path directory);

}  // namespace packhorse
