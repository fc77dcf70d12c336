#pragma once

#include <string>
#include <vector>

/// Archives in memory, as seeds of the fuzzers.
namespace packhorse::fuzz {

struct ArchiveMember {
  std::string name, content;
  enum class Type {
    kFile,
    kDirectory,
    kLink,
    kHardLink
  } type = Type::kFile;  ///< links: to content
};

/// `format` and `filter` are libarchive's names: "ustar", "pax", "gnutar", "zip"; "none", "gzip",
/// "zstd", "xz". The same members give the same bytes.
std::string make_archive(const std::vector<ArchiveMember>& members, const std::string& format,
                         const std::string& filter = "none");

}  // namespace packhorse::fuzz
