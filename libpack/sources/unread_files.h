#pragma once

#include <filesystem>

namespace packhorse {

/// Data sets also come in files that no source reads: Parquet, HDF5, TFRecord, pickles, MATLAB.
/// Throws Error(kUnsupported), with what it is and what to do, when `path` is such a file, or a
/// folder that holds such files, with neither folders nor images beside them, itself or in `data/`.
/// The name decides. Does nothing otherwise.
void refuse_unread_files(const std::filesystem::path& path);

}  // namespace packhorse
