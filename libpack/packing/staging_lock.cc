#include "packing/staging_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "base/process.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kSignature = "process ";
constexpr int kMostTries = 10'000;  // a try is lost when another writer ends at that moment

std::string this_process() {
  return std::string(kSignature) + std::to_string(::getpid()) + " on " + host_name() + "\n";
}

/// The first line of the lock; empty when the lock is not signed.
std::string owner_in(int fd) {
  std::array<char, 512> text{};
  const ssize_t n = uninterrupted([&] { return ::pread(fd, text.data(), text.size(), 0); });
  const std::string_view line(text.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  return std::string(line.substr(0, line.find('\n')));
}

bool is_signed(int fd) { return owner_in(fd).starts_with(kSignature); }

/// Everything in `root` except the lock.
std::vector<fs::path> others_in(const fs::path& root) {
  std::vector<fs::path> others;
  for (const fs::directory_entry& entry : entries_in(root)) {
    if (entry.path().filename() != "lock") others.push_back(entry.path());
  }
  return others;
}

[[noreturn]] void refuse_foreign(const fs::path& root) {
  throw Error(ErrorKind::kExists, "something else has the name of the staging directory", root,
              "move it away, or choose another target");
}

[[noreturn]] void refuse_held(const fs::path& root, const std::string& owner) {
  throw Error(ErrorKind::kExists,
              "another process is writing to this target: " +
                  (owner.empty() ? "one that is just starting or ending" : owner),
              root, "wait for it, stop it, or choose another target");
}

}  // namespace

StagingLock::StagingLock(fs::path root, Hold hold) : root_(std::move(root)), path_(root_ / "lock") {
  for (int tries = 0; tries < kMostTries; ++tries) {
    make_directories(root_);
    if (fs::is_symlink(root_)) refuse_foreign(root_);  // the link's target is not ours to remove
    fd_ = open_file(path_, O_RDWR | O_CREAT | O_EXCL);
    made_ = static_cast<bool>(fd_);
    if (!fd_ && errno == EEXIST) fd_ = open_file(path_, O_RDWR | O_NOFOLLOW);
    if (!fd_ && errno == ENOENT) continue;
    if (!fd_ && (errno == EISDIR || errno == ELOOP)) refuse_foreign(root_);
    if (!fd_) throw_errno("open the lock", path_);
    const Found found = try_to_take(hold);
    if (found == Found::kHeld) refuse_held(root_, owner_in(fd_.get()));
    if (found == Found::kGone) continue;
    try {
      claim();
    } catch (...) {
      if (made_ && hold == Hold::kAlone) undo();
      throw;
    }
    return;
  }
  throw Error(ErrorKind::kExists, "the staging directory keeps appearing and disappearing", root_,
              "choose another target");
}

StagingLock::StagingLock(fs::path root, UniqueFd fd)
    : root_(std::move(root)), path_(root_ / "lock"), fd_(std::move(fd)) {}

std::optional<StagingLock> StagingLock::take_over(const fs::path& root) {
  if (fs::is_symlink(root)) return std::nullopt;
  UniqueFd fd = open_file(root / "lock", O_RDWR | O_NOFOLLOW);
  if (!fd) return std::nullopt;
  StagingLock lock(root, std::move(fd));
  if (lock.try_to_take(Hold::kAlone) != Found::kTaken || !is_signed(lock.fd_.get()))
    return std::nullopt;
  return lock;
}

/// Follows rules 1 and 2.
StagingLock::Found StagingLock::try_to_take(Hold hold) {
  const int how = hold == Hold::kShared ? LOCK_SH : LOCK_EX;
  if (uninterrupted([&] { return ::flock(fd_.get(), how | LOCK_NB); }) != 0) {
    if (errno == EWOULDBLOCK) return Found::kHeld;
    if (errno == ENOSYS || errno == ENOLCK || errno == EOPNOTSUPP) {
      throw Error(ErrorKind::kUnsupported, "this storage has no file locks (flock)", path_,
                  "mount it with them (Lustre: the option flock), or write to other storage, such "
                  "as this machine's own disk or s3://, and copy the dataset");
    }
    throw_errno("lock", path_);
  }
  struct stat opened {
  }, named{};
  if (::fstat(fd_.get(), &opened) != 0) throw_errno("stat", path_);
  if (::stat(path_.c_str(), &named) != 0) {
    if (errno == ENOENT) return Found::kGone;
    throw_errno("stat", path_);
  }
  const bool same = opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
  return same ? Found::kTaken : Found::kGone;
}

/// Follows rule 3.
void StagingLock::claim() {
  const bool empty = others_in(root_).empty();
  const bool ours = is_signed(fd_.get());
  if (!empty && !ours) {
    if (made_) ::unlink(path_.c_str());  // tasks that share it are refused, too
    refuse_foreign(root_);
  }
  fresh_ = empty;
  // Writes over an earlier name without truncating, so that the lock is never unsigned; a newline
  // ends the name.
  write_exactly(fd_.get(), 0, as_bytes(this_process()), path_);
  if (!ours) sync_file(fd_.get(), path_);
}

/// Removes what was made of a directory that could not be claimed. A directory of somebody else's
/// stays, since it is not empty.
void StagingLock::undo() {
  ::unlink(path_.c_str());
  ::rmdir(root_.c_str());
}

/// Follows rule 5.
void StagingLock::remove_root() {
  for (const fs::path& path : others_in(root_)) remove_tree(path);
  if (::unlink(path_.c_str()) != 0) throw_errno("remove", path_);
  fd_.reset();
  if (::rmdir(root_.c_str()) != 0 && errno != ENOTEMPTY && errno != EEXIST && errno != ENOENT)
    throw_errno("remove", root_);
}

}  // namespace packhorse
