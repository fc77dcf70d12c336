#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "archive/byte_stream.h"

namespace packhorse {

/// One member of an archive, as its headers describe it.
struct Member {
  enum class Type { kFile, kDirectory, kHardLink, kOther };
  std::string name;  ///< byte for byte
  Type type = Type::kOther;
  std::uint64_t size = 0;
  std::string link;     ///< where a hard link leads
  std::string problem;  ///< why its bytes cannot be read; empty: they can
};

/// Goes through one archive from its first member to its last, with libarchive. One thread.
///
/// Throws Error(kCorrupt), with the last good member in it, for an archive that is damaged or cut:
/// a bad header, a wrong checksum, an end without an end mark.
class ArchiveWalk {
 public:
  virtual ~ArchiveWalk() = default;
  /// Goes to the next member; false at the archive's end.
  virtual bool next(Member& member) = 0;
  /// The first bytes of the member, at most 512.
  virtual Bytes head() = 0;
  /// The next piece of the member's bytes, head included; empty at the end. The view lives until
  /// the next call. Throws Error(kRejected) when this member alone is damaged.
  virtual Bytes next_data() = 0;
  /// Where the member's data begin in the stream the walk was opened on.
  virtual std::uint64_t data_offset() const = 0;
};

/// Walks a tar of any flavour. Nothing when `stream` does not begin as one, unless `insist`.
std::unique_ptr<ArchiveWalk> walk_tar(std::unique_ptr<ByteStream> stream,
                                      const std::filesystem::path& path, bool insist);

/// Walks a zip by its central directory. `fd` stays the caller's, and its position is used.
std::unique_ptr<ArchiveWalk> walk_zip(int fd, const std::filesystem::path& path);

bool is_zip(Bytes head);

/// The name, byte for byte, in the local file header that ends at `end`, where its member's data
/// begin; nothing when there is none or when it is not marked as UTF-8.
///
///     | "PK\3\4", version, flags, ... 26 bytes | name length, extra length | name | extra | data
///
/// Source: PKWARE APPNOTE.TXT 6.3, 4.3.7 and 4.4.4.
std::optional<std::string> zip_name_before(int fd, std::uint64_t end,
                                           const std::filesystem::path& path);

}  // namespace packhorse
