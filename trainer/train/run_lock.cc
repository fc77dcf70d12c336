#include "train/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "packhorse/base/error.h"

namespace packhorse::trainer {

namespace fs = std::filesystem;

namespace {

/// Whether the file still has its name: whoever held the lock before may have removed it.
bool has_name(int fd, const fs::path& file) {
  struct stat open {
  }, named{};
  return ::fstat(fd, &open) == 0 && ::stat(file.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

}  // namespace

RunLock::RunLock(const fs::path& directory) : directory_(directory), file_(directory / "lock") {
  std::error_code code;
  for (fs::path missing = fs::absolute(directory_); !fs::exists(missing, code);
       missing = missing.parent_path())
    made_.push_back(missing);
  fs::create_directories(directory_, code);
  if (code) throw_code(code, "make the directory", directory_);
  while (!holds_) {
    fd_ = open_file(file_, O_RDWR | O_CREAT);
    if (!fd_) throw_errno("open", file_);
    if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return;
      throw Error(ErrorKind::kExists, "another run is writing there", directory_,
                  "wait until it has ended, or use another `out=`");
    }
    holds_ = has_name(fd_.get(), file_);
  }
}

RunLock::~RunLock() {
  std::error_code ignored;
  fs::remove(file_, ignored);
  for (const fs::path& made : made_) fs::remove(made, ignored);  // fails where something is in it
}

}  // namespace packhorse::trainer
