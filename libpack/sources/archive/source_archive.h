#pragma once

#include "packhorse/sources/source.h"

namespace packhorse {

/// One archive file of class folders or of class archives: zip, or tar, plain or compressed with
/// gzip, zstd or xz. Nothing is ever extracted under a name that is in the archive.
namespace archive_file {
bool probe(const std::filesystem::path& path);
std::unique_ptr<Source> open(const std::filesystem::path& path);
}  // namespace archive_file

inline constexpr SourceKind kArchiveSource = {
    "archive", "an archive of class folders (tar, tar.gz, tar.zst, tar.xz, zip)",
    archive_file::probe, archive_file::open};

}  // namespace packhorse
