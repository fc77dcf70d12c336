/// Files of workers on the disk of their world. The kernel keeps them, in memory; which call comes
/// when, and which fails, is drawn.
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "simulation/disk.h"
#include "simulation/real.h"
#include "simulation/token.h"

namespace packhorse::simulation {

std::string disk_root;

namespace {

constexpr std::size_t kFiles = 4096;
bool files[kFiles];  // open, and on the disk of the world

bool is_on_disk(const char* path) {
  return self != nullptr && path != nullptr &&
         std::strncmp(path, disk_root.c_str(), disk_root.size()) == 0;
}
bool is_on_disk(int fd) {
  return self != nullptr && fd >= 0 && static_cast<std::size_t>(fd) < kFiles && files[fd];
}
bool is_on_disk(int directory, const char* path) {
  if (self == nullptr || path == nullptr) return false;
  return path[0] == '/' ? is_on_disk(path) : is_on_disk(directory);
}

int remembered(int fd, bool on_disk) {
  if (self != nullptr && fd >= 0 && static_cast<std::size_t>(fd) < kFiles) files[fd] = on_disk;
  return fd;
}

bool fails(int error) {
  if (error != 0) errno = error;
  return error != 0;
}

/// A call that only looks.
template <class Call>
auto looking(bool on_disk, const char* name, const char* path, int fd, const Call& call) {
  if (on_disk) at_call(name, path, fd, false);
  return call();
}

/// A call that changes names: it needs no room, but the disk may be broken.
template <class Call>
int changing(bool on_disk, const char* name, const char* path, int fd, const Call& call) {
  if (on_disk && fails(at_call(name, path, fd, true))) return -1;
  return call();
}

/// A call that needs room.
template <class Call>
int making(bool on_disk, const char* name, const char* path, int fd, const Call& call) {
  if (!on_disk) return call();
  if (fails(at_call(name, path, fd, true))) return -1;
  if (own_machine().disk_full && fails(ENOSPC)) return -1;
  return call();
}

template <class Call>
int opening(bool on_disk, int flags, const char* path, const Call& call) {
  if (on_disk && (flags & O_CREAT) != 0) {
    if (fails(at_call("create", path, -1, true))) return -1;
    if (own_machine().disk_full && fails(ENOSPC)) return -1;
  } else if (on_disk) {
    at_call("open", path, -1, false);
  }
  return remembered(call(), on_disk);
}

/// A call that writes: `call(n)` writes n bytes.
template <class Call>
ssize_t writing(int fd, const char* name, std::size_t size, const Call& call) {
  if (!is_on_disk(fd)) return call(size);
  bool half = false;
  if (fails(at_call(name, nullptr, fd, true, &half))) return -1;
  if (own_machine().disk_full && fails(ENOSPC)) return -1;
  return call(half ? (size + 1) / 2 : size);
}

}  // namespace

}  // namespace packhorse::simulation

using namespace packhorse::simulation;

#define PACKHORSE_MODE(flags)                   \
  mode_t mode = 0;                              \
  if (((flags) & (O_CREAT | O_TMPFILE)) != 0) { \
    va_list list;                               \
    va_start(list, flags);                      \
    mode = va_arg(list, mode_t);                \
    va_end(list);                               \
  }

extern "C" {

int open(const char* path, int flags, ...) {
  PACKHORSE_REAL(open);
  PACKHORSE_MODE(flags)
  return opening(is_on_disk(path), flags, path, [&] { return real(path, flags, mode); });
}
int open64(const char* path, int flags, ...) {
  PACKHORSE_REAL(open64);
  PACKHORSE_MODE(flags)
  return opening(is_on_disk(path), flags, path, [&] { return real(path, flags, mode); });
}
int openat(int directory, const char* path, int flags, ...) {
  PACKHORSE_REAL(openat);
  PACKHORSE_MODE(flags)
  return opening(is_on_disk(directory, path), flags, path,
                 [&] { return real(directory, path, flags, mode); });
}
int openat64(int directory, const char* path, int flags, ...) {
  PACKHORSE_REAL(openat64);
  PACKHORSE_MODE(flags)
  return opening(is_on_disk(directory, path), flags, path,
                 [&] { return real(directory, path, flags, mode); });
}
DIR* opendir(const char* path) {
  PACKHORSE_REAL(opendir);
  return looking(is_on_disk(path), "list", path, -1, [&] { return real(path); });
}
int close(int fd) {
  PACKHORSE_REAL(close);
  const bool on_disk = is_on_disk(fd);
  if (on_disk) at_call("close", nullptr, fd, false);
  remembered(fd, false);
  return real(fd);
}

ssize_t pread(int fd, void* to, size_t size, off_t at) {
  PACKHORSE_REAL(pread);
  return looking(is_on_disk(fd), "pread", nullptr, fd, [&] { return real(fd, to, size, at); });
}
ssize_t pread64(int fd, void* to, size_t size, off64_t at) {
  PACKHORSE_REAL(pread64);
  return looking(is_on_disk(fd), "pread", nullptr, fd, [&] { return real(fd, to, size, at); });
}
ssize_t write(int fd, const void* from, size_t size) {
  PACKHORSE_REAL(write);
  return writing(fd, "write", size, [&](size_t n) { return real(fd, from, n); });
}
ssize_t pwrite(int fd, const void* from, size_t size, off_t at) {
  PACKHORSE_REAL(pwrite);
  return writing(fd, "pwrite", size, [&](size_t n) { return real(fd, from, n, at); });
}
ssize_t pwrite64(int fd, const void* from, size_t size, off64_t at) {
  PACKHORSE_REAL(pwrite64);
  return writing(fd, "pwrite", size, [&](size_t n) { return real(fd, from, n, at); });
}
ssize_t sendfile(int to, int from, off_t* at, size_t size) noexcept {
  PACKHORSE_REAL(sendfile);
  return writing(to, "sendfile", size, [&](size_t n) { return real(to, from, at, n); });
}

int fsync(int fd) {
  PACKHORSE_REAL(fsync);
  return changing(is_on_disk(fd), "fsync", nullptr, fd, [&] { return real(fd); });
}
int rename(const char* from, const char* to) noexcept {
  PACKHORSE_REAL(rename);
  return changing(is_on_disk(from), "rename", to, -1, [&] { return real(from, to); });
}
int renameat2(int from_at, const char* from, int to_at, const char* to, unsigned flags) noexcept {
  PACKHORSE_REAL(renameat2);
  return changing(is_on_disk(from_at, from), "rename", to, -1,
                  [&] { return real(from_at, from, to_at, to, flags); });
}
int unlink(const char* path) noexcept {
  PACKHORSE_REAL(unlink);
  return changing(is_on_disk(path), "unlink", path, -1, [&] { return real(path); });
}
int unlinkat(int directory, const char* path, int flags) noexcept {
  PACKHORSE_REAL(unlinkat);
  return changing(is_on_disk(directory, path), "unlink", path, -1,
                  [&] { return real(directory, path, flags); });
}
int remove(const char* path) noexcept {
  PACKHORSE_REAL(remove);
  return changing(is_on_disk(path), "remove", path, -1, [&] { return real(path); });
}
int rmdir(const char* path) noexcept {
  PACKHORSE_REAL(rmdir);
  return changing(is_on_disk(path), "rmdir", path, -1, [&] { return real(path); });
}
int mkdir(const char* path, mode_t mode) noexcept {
  PACKHORSE_REAL(mkdir);
  return making(is_on_disk(path), "mkdir", path, -1, [&] { return real(path, mode); });
}
int mkdirat(int directory, const char* path, mode_t mode) noexcept {
  PACKHORSE_REAL(mkdirat);
  return making(is_on_disk(directory, path), "mkdir", path, -1,
                [&] { return real(directory, path, mode); });
}
int ftruncate(int fd, off_t size) noexcept {
  PACKHORSE_REAL(ftruncate);
  return making(is_on_disk(fd), "truncate", nullptr, fd, [&] { return real(fd, size); });
}
int fallocate(int fd, int mode, off_t at, off_t size) {
  PACKHORSE_REAL(fallocate);
  return changing(is_on_disk(fd), "fallocate", nullptr, fd,
                  [&] { return real(fd, mode, at, size); });
}

int stat(const char* path, struct stat* status) noexcept {
  PACKHORSE_REAL(stat);
  return looking(is_on_disk(path), "stat", path, -1, [&] { return real(path, status); });
}
int lstat(const char* path, struct stat* status) noexcept {
  PACKHORSE_REAL(lstat);
  return looking(is_on_disk(path), "lstat", path, -1, [&] { return real(path, status); });
}
int fstatat(int directory, const char* path, struct stat* status, int flags) noexcept {
  PACKHORSE_REAL(fstatat);
  return looking(is_on_disk(directory, path), "stat", path, -1,
                 [&] { return real(directory, path, status, flags); });
}

/// Waits by looking again and again: a lock of another process tells nobody when it ends.
int flock(int fd, int how) noexcept {
  PACKHORSE_REAL(flock);
  if (!is_on_disk(fd)) return real(fd, how);
  shared->calls = 1;  // between the opening of a file and its lock others may always come
  if (fails(at_call("flock", nullptr, fd, false))) return -1;
  while (real(fd, how | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || (how & LOCK_NB) != 0) return -1;
    wait_for(nullptr, shared->now + 1'000'000, "another process's lock");
  }
  return 0;
}

int fcntl(int fd, int what, ...) {
  PACKHORSE_REAL(fcntl);
  va_list list;
  va_start(list, what);
  void* const given = va_arg(list, void*);
  va_end(list);
  const bool locks = what == F_OFD_SETLK || what == F_OFD_SETLKW || what == F_OFD_GETLK;
  if (!locks || !is_on_disk(fd)) {
    const int result = real(fd, what, given);
    return what == F_DUPFD || what == F_DUPFD_CLOEXEC ? remembered(result, is_on_disk(fd)) : result;
  }
  at_call("lock", nullptr, fd, false);
  if (what != F_OFD_SETLKW) return real(fd, what, given);
  while (real(fd, F_OFD_SETLK, given) != 0) {
    if (errno != EAGAIN && errno != EACCES) return -1;
    wait_for(nullptr, shared->now + 1'000'000, "another process's lock");
  }
  return 0;
}
int fcntl64(int fd, int what, ...) {
  va_list list;
  va_start(list, what);
  void* const given = va_arg(list, void*);
  va_end(list);
  return fcntl(fd, what, given);
}

}  // extern "C"
