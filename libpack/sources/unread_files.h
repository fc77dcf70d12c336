#pragma once

#include <filesystem>
#include <string>

namespace packhorse {

class FolderLook;

/// Data sets also come in files that no source reads: Parquet, HDF5, TFRecord, pickles, MNIST's
/// idx, RecordIO, LMDB, parts of archives and others. Throws Error(kUnsupported), with what it is
/// and what to do, when `path` is such a file, or a folder that holds such files and, as far as
/// that can be seen quickly, no image and no archive. A name that tells the kind decides; else the
/// first bytes do. Does nothing otherwise.
void refuse_unread_files(const std::filesystem::path& path, FolderLook& look);

/// What to do with a path, if it is a shard that can be adopted but is no source, such as an LMDB
/// environment, or a folder that holds one; otherwise empty.
std::string advice_to_adopt(const std::filesystem::path& path);

}  // namespace packhorse
