#include "storage/cache/byte_locks.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/file.h"
#include "base/stop.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using Lock = struct flock;
using std::chrono::microseconds;

constexpr microseconds kFirstLook{100}, kLook{20'000};

Lock made(short type, ByteRange range) {
  Lock lock{};  // l_pid must be 0
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(range.offset);
  lock.l_len = static_cast<off_t>(range.length);
  return lock;
}

short type_of(LockKind kind) { return kind == LockKind::kShared ? F_RDLCK : F_WRLCK; }

[[noreturn]] void refuse(const fs::path& path) {
  const int code = errno;
  if (code == EINVAL || code == ENOLCK || code == ENOSYS || code == EOPNOTSUPP) {
    throw Error(ErrorKind::kIo, "the file system has no locks of byte ranges", path,
                "put the cache on a local disk");
  }
  errno = code;
  throw_errno("lock", path);
}

}  // namespace

bool try_lock(int fd, ByteRange range, LockKind kind, const fs::path& path) {
  Lock lock = made(type_of(kind), range);
  if (uninterrupted([&] { return ::fcntl(fd, F_OFD_SETLK, &lock); }) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  refuse(path);
}

void wait_lock(int fd, ByteRange range, LockKind kind, const fs::path& path) {
  // A thread that waits in the kernel hears of no stop. The first tries come soon: most locks are
  // held for as long as a file takes to be opened.
  for (auto pause = kFirstLook; !try_lock(fd, range, kind, path);
       pause = std::min(2 * pause, kLook)) {
    obey_stop();
    std::this_thread::sleep_for(pause);
  }
}

void unlock(int fd, ByteRange range) noexcept {
  Lock lock = made(F_UNLCK, range);
  static_cast<void>(uninterrupted([&] { return ::fcntl(fd, F_OFD_SETLK, &lock); }));
}

std::vector<ByteRange> locks_of_others(int fd, ByteRange range, const fs::path& path) {
  std::vector<ByteRange> found, left{range};
  while (!left.empty()) {
    const ByteRange look = left.back();
    left.pop_back();
    if (look.length == 0) continue;
    // The kernel names any one of the locks in the way, not the first by place: so both sides of
    // it are still to be looked at.
    Lock lock = made(F_WRLCK, look);
    if (uninterrupted([&] { return ::fcntl(fd, F_OFD_GETLK, &lock); }) != 0) refuse(path);
    if (lock.l_type == F_UNLCK) continue;
    const auto start = static_cast<std::uint64_t>(lock.l_start);
    const auto length = static_cast<std::uint64_t>(lock.l_len);
    const std::uint64_t begin = std::max(look.offset, start);
    const std::uint64_t end = length == 0 ? look.end() : std::min(look.end(), start + length);
    found.push_back({begin, end - begin});
    left.push_back({look.offset, begin - look.offset});
    left.push_back({end, look.end() - end});
  }
  return found;
}

}  // namespace packhorse
