#include "archive/archive_scan.h"

#include <algorithm>
#include <array>

#include "archive/tar_header.h"
#include "base/stop.h"
#include "base/text.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 8> kSuffixes = {".tar",  ".tar.gz", ".tgz", ".tar.zst",
                                                       ".tzst", ".tar.xz", ".txz", ".zip"};
constexpr std::size_t kDeepest = 2;     // archives: the file, and those right in it
constexpr std::size_t kCompared = 512;  // bytes of each member that prove its offset

std::vector<std::byte> first_bytes(int fd, const fs::path& path, std::uint64_t offset) {
  const std::uint64_t size = file_size(fd, path);
  std::vector<std::byte> head(std::min<std::uint64_t>(kTarBlock, size - std::min(size, offset)));
  read_exactly(fd, offset, head, path);
  return head;
}

/// The data of a walk's current member.
class MemberStream final : public ByteStream {
 public:
  explicit MemberStream(ArchiveWalk& walk) : walk_(walk) {}
  Bytes next() override { return walk_.next_data(); }

 private:
  ArchiveWalk& walk_;
};

}  // namespace

ArchiveScan::ArchiveScan(fs::path path, int fd, Spool& spool)
    : path_(std::move(path)), fd_(fd), spool_(spool) {
  const std::vector<std::byte> head = first_bytes(fd_, path_, 0);
  Level level;
  if (is_zip(head)) {
    level.walk = walk_zip(fd_, path_);
  } else {
    const Compression compression = compression_of(head);
    level.in_place = compression == Compression::kNone;
    level.walk =
        walk_tar(decompress(read_range(fd_, {0, file_size(fd_, path_)}, path_), compression, path_),
                 path_, true);
  }
  levels_.push_back(std::move(level));
}

bool ArchiveScan::next() {
  obey_stop();
  loaded_.clear();
  while (!walk().next(member_)) {
    if (levels_.size() == 1) return false;
    levels_.pop_back();
  }
  const std::string& prefix = levels_.back().prefix;
  if (prefix.empty()) return true;
  member_.name = prefix + '/' + member_.name;
  if (!member_.link.empty()) member_.link = prefix + '/' + member_.link;
  return true;
}

Bytes ArchiveScan::load() {
  if (!member_.problem.empty())
    throw Error(ErrorKind::kRejected, Problem(Reason::kUnreadable, member_.problem));
  for (Bytes some = walk().next_data(); !some.empty(); some = walk().next_data())
    loaded_.insert(loaded_.end(), some.begin(), some.end());
  return loaded_;
}

Place ArchiveScan::keep(std::uint64_t most) {
  if (!member_.problem.empty())
    throw Error(ErrorKind::kRejected, Problem(Reason::kUnreadable, member_.problem));
  if (member_.size > most) {
    throw Error(ErrorKind::kRejected,
                most == naming::kLargestImage
                    ? Problem(Reason::kFileTooLarge)
                    : Problem(Reason::kFileTooLarge, "it has " + std::to_string(member_.size) +
                                                         " bytes, more than the " +
                                                         std::to_string(most) + " that are read"));
  }
  return levels_.back().in_place ? keep_in_place() : keep_in_spool();
}

Place ArchiveScan::keep_in_place() {
  const std::uint64_t offset = levels_.back().begin + walk().data_offset();
  const Bytes head = walk().head();
  std::vector<std::byte> there(std::min(head.size(), kCompared));
  read_exactly(fd_, offset, there, path_);
  if (!std::equal(there.begin(), there.end(), head.begin())) {
    throw Error(ErrorKind::kIo, "a member is not where its header says; has the archive changed?",
                path_, "pack again once nothing is writing to it", member_.name);
  }
  return {offset, false};
}

Place ArchiveScan::keep_in_spool() {
  const std::uint64_t begin = spool_.append(loaded_);
  try {
    for (Bytes some = walk().next_data(); !some.empty(); some = walk().next_data())
      spool_.append(some);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kRejected) spool_.cut(begin);
    throw;
  }
  return {begin, true};
}

bool ArchiveScan::enter() {
  if (levels_.size() == kDeepest || !member_.problem.empty()) return false;
  const Level& outer = levels_.back();
  const Compression compression = compression_of(walk().head());
  Level inner;
  std::unique_ptr<ByteStream> stored;
  if (outer.in_place) {
    inner.begin = keep_in_place().offset;
    inner.in_place = compression == Compression::kNone;
    stored = read_range(fd_, {inner.begin, member_.size}, path_);
  } else {
    stored = std::make_unique<MemberStream>(walk());
  }
  inner.walk = walk_tar(decompress(std::move(stored), compression, path_), path_, false);
  if (!inner.walk) return false;
  inner.prefix = archive_stem(member_.name);
  if (inner.prefix.empty()) inner.prefix = member_.name;
  levels_.push_back(std::move(inner));
  return true;
}

bool is_archive(int fd, const fs::path& path) {
  const std::vector<std::byte> head = first_bytes(fd, path, 0);
  if (is_zip(head) || is_tar_header(head)) return true;
  const Compression compression = compression_of(head);
  if (compression == Compression::kNone) return false;
  try {
    return walk_tar(decompress(read_range(fd, {0, file_size(fd, path)}, path), compression, path),
                    path, false) != nullptr;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kCorrupt) return false;
    throw;
  }
}

std::string_view archive_stem(std::string_view name) {
  const std::string lower =
      lower_case(name.substr(name.size() - std::min<std::size_t>(name.size(), 8)));
  for (const std::string_view suffix : kSuffixes) {
    if (lower.size() >= suffix.size() && lower.ends_with(suffix))
      return name.substr(0, name.size() - suffix.size());
  }
  return {};
}

bool has_archive_name(std::string_view name) { return !archive_stem(name).empty(); }

}  // namespace packhorse
