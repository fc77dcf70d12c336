#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "archive/archive_walk.h"
#include "archive/spool.h"
#include "base/file.h"
#include "listing/names.h"

namespace packhorse {

/// Where a member's bytes are read from after the scan: the archive file itself or the spool.
struct Place {
  std::uint64_t offset = 0;
  bool spooled = false;
};

/// Goes through an archive file once, whatever it is compressed with, and makes the members that
/// are wanted readable at random: those of plain tars where they lie, all others through the spool.
///
///     ArchiveScan scan(path, fd, spool);
///     while (scan.next()) {
///       if (wanted(scan.member(), scan.head())) places.push_back(scan.keep());
///     }
///
/// Memory: a few buffers, whatever the sizes. Throws Error(kCorrupt) for a damaged or cut archive.
/// One thread.
class ArchiveScan {
 public:
  /// `fd` must stay open as long as the scan.
  ArchiveScan(std::filesystem::path path, int fd, Spool& spool);

  /// Goes to the next member. An entered archive's members come before those that follow it.
  bool next();
  /// The current member. It has the name that it would have if each entered archive were a folder,
  /// named without the archive's suffix.
  const Member& member() const { return member_; }
  /// The first bytes of a file, at most 512.
  Bytes head() { return walk().head(); }
  /// Where the member's bytes begin in the file; only for a plain tar that is in no other archive.
  std::uint64_t offset() const { return levels_.back().walk->data_offset(); }
  /// All bytes of a file that is small enough; the view lives until next(). keep() may follow.
  /// Throws Error(kRejected).
  Bytes load();
  /// Makes the member readable after the scan, unless it has more than `most` bytes. To be called
  /// once for each member. Throws Error(kRejected) when its bytes cannot be read.
  Place keep(std::uint64_t most = naming::kLargestImage);
  /// Enters the member as an archive, too. False when it cannot be read here: an archive within one
  /// within one, a zip, or no archive at all. The member cannot be kept any more then.
  bool enter();

 private:
  struct Level {
    std::unique_ptr<ArchiveWalk> walk;
    std::string prefix;       ///< put before the names in it
    bool in_place = false;    ///< the walk's stream is a part of the file, uncompressed
    std::uint64_t begin = 0;  ///< where that part begins
  };
  ArchiveWalk& walk() { return *levels_.back().walk; }
  Place keep_in_place();
  Place keep_in_spool();

  std::filesystem::path path_;
  int fd_;
  Spool& spool_;
  std::vector<Level> levels_;
  Member member_;
  std::vector<std::byte> loaded_;
};

/// Whether an open file is an archive, by its content. Throws Error(kIo).
bool is_archive(int fd, const std::filesystem::path& path);

/// The part of a name before ".tar", ".tar.gz", ".tgz", ...; empty when it has no such suffix.
std::string_view archive_stem(std::string_view name);
bool has_archive_name(std::string_view name);

}  // namespace packhorse
