// A library that is loaded before all others (LD_PRELOAD). It makes one system call of a program
// fail, or ends the program there:
//
//     FAULT_ROOT   only files below this directory count
//     FAULT_CALL   a group of calls below (kGroups), or "change": any of them that changes files
//     FAULT_AT     the number of the call that fails, from 1
//     FAULT_DO     EIO, ENOSPC, EINTR, EEXIST, ENOMEM, ENOLCK; SHORT (half of it is written or
//                  read); KILL (SIGKILL before the call), TORN (SIGKILL after half of it is
//                  written), STOP (SIGSTOP before the call: the program is halted, and goes on with
//                  SIGCONT), SEGV (SIGSEGV before the call, which the program may handle), TERM
//                  (SIGTERM before the call, which is made when the program has taken the signal)
//     FAULT_ALWAYS 1: all that follow fail, too
//     FAULT_COUNT  a file of kGroups 64-bit numbers that gets the calls counted
//     FAULT_LOG    a file that gets a line for each write ("wrote INODE"), sync ("synced INODE", 0
//                  for all) and rename ("renamed INODE", and "wrote INODE" of the new folder)
//
// A program that a signal ends, or a library with a code of its own, then prints on stderr where it
// was: "FAULT FRAME: library(symbol+0x1)", the innermost call first. Only the process started with
// the library counts, not its children. packhorse and its libraries write only through these
// functions of the C library: no io_uring, and no direct system calls.
#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <new>

// NOLINTBEGIN(bugprone-reserved-identifier): the C library's own names.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}
// NOLINTEND(bugprone-reserved-identifier)

namespace {

enum Group {
  kOpen,
  kRead,
  kWrite,
  kPwrite,
  kSync,
  kRename,
  kLink,
  kUnlink,
  kMkdir,
  kTruncate,
  kClose,
  kMap,
  kLock,
  kAlloc,
  kChange,
  kNumber
};
constexpr std::array<const char*, kNumber> kGroups = {
    "open",  "read",     "write", "pwrite", "fsync", "rename", "link",  "unlink",
    "mkdir", "truncate", "close", "mmap",   "flock", "alloc",  "change"};

enum class Fault { kNone, kErrno, kShort, kKill, kTorn, kStop, kCrash, kTerm };

constexpr std::size_t kFiles = 4096;

struct State {
  bool active = false;
  const char* root = "";
  std::size_t root_length = 0;
  int group = -1;
  std::uint64_t at = 0;
  bool always = false;
  Fault fault = Fault::kNone;
  int error = EIO;
  std::array<std::atomic<std::uint64_t>, kNumber> own_counts{};
  std::atomic<std::uint64_t>* counts = own_counts.data();
  std::array<std::atomic<bool>, kFiles> files{};  ///< open, and below the root
  int log = -1;
};

State state;

int number_of(const char* name) {
  for (int group = 0; group < kNumber; ++group) {
    if (strcmp(kGroups[static_cast<std::size_t>(group)], name) == 0) return group;
  }
  return -1;
}

void choose_fault(const char* what) {
  struct Named {
    const char* name;
    Fault fault;
    int error;
  };
  constexpr std::array kFaults = {
      Named{"EIO", Fault::kErrno, EIO},       Named{"ENOSPC", Fault::kErrno, ENOSPC},
      Named{"EINTR", Fault::kErrno, EINTR},   Named{"EEXIST", Fault::kErrno, EEXIST},
      Named{"ENOMEM", Fault::kErrno, ENOMEM}, Named{"ENOLCK", Fault::kErrno, ENOLCK},
      Named{"SHORT", Fault::kShort, 0},       Named{"KILL", Fault::kKill, 0},
      Named{"TORN", Fault::kTorn, 0},         Named{"STOP", Fault::kStop, 0},
      Named{"SEGV", Fault::kCrash, 0},        Named{"TERM", Fault::kTerm, 0}};
  for (const Named& named : kFaults) {
    if (strcmp(named.name, what) != 0) continue;
    state.fault = named.fault;
    state.error = named.error;
    return;
  }
  abort();
}

/// Prints where the program is.
void print_frames() {
  state.active = false;
  std::array<void*, 64> frames{};
  const int n = backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 1; i < n; ++i) {  // frame 0 is this function
    constexpr char kMark[] = "FAULT FRAME: ";
    if (write(STDERR_FILENO, kMark, sizeof kMark - 1) < 0) break;
    backtrace_symbols_fd(&frames[static_cast<std::size_t>(i)], 1, STDERR_FILENO);
  }
}

/// Prints where the program is, and lets the signal end it.
void end_by(int number) {
  print_frames();
  signal(number, SIG_DFL);
  raise(number);
}

/// Gives this thread a stack for the handler, as its own stack may be what has run out.
void give_handler_stack() {
  constexpr std::size_t kBytes = 256 << 10;
  stack_t stack{};
  stack.ss_sp = __libc_malloc(kBytes);
  stack.ss_size = kBytes;
  if (stack.ss_sp != nullptr) sigaltstack(&stack, nullptr);
}

struct ThreadStart {
  void* (*routine)(void*);
  void* argument;
};

void* start_thread(void* given) {
  const ThreadStart start = *static_cast<ThreadStart*>(given);
  give_handler_stack();
  return start.routine(start.argument);
}

void watch_crashes() {
  give_handler_stack();
  std::array<void*, 1> frame{};
  backtrace(frame.data(), 1);  // loads what it needs while it still can
  for (const int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) {
    struct sigaction action {};
    action.sa_handler = end_by;
    action.sa_flags = SA_NODEFER | SA_ONSTACK;
    sigaction(number, &action, nullptr);
  }
}

__attribute__((constructor)) void begin() {
  const char* const root = getenv("FAULT_ROOT");
  const char* const owner = getenv("FAULT_OWNER");
  if (root == nullptr) return;
  std::array<char, 16> self{};
  snprintf(self.data(), self.size(), "%d", static_cast<int>(getpid()));
  if (owner != nullptr && strcmp(owner, self.data()) != 0) return;  // a child process
  setenv("FAULT_OWNER", self.data(), 1);
  state.root = root;
  state.root_length = strlen(root);
  if (const char* const call = getenv("FAULT_CALL")) {
    state.group = number_of(call);
    if (state.group < 0) abort();
    state.at = strtoull(getenv("FAULT_AT"), nullptr, 10);
    choose_fault(getenv("FAULT_DO"));
    state.always = getenv("FAULT_ALWAYS") != nullptr;
    if (state.fault != Fault::kCrash) watch_crashes();
  }
  if (const char* const counts = getenv("FAULT_COUNT")) {
    const int fd = open(counts, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    constexpr std::size_t kBytes = sizeof state.own_counts;
    if (fd < 0 || ftruncate(fd, kBytes) != 0) abort();
    void* const shared = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (shared == MAP_FAILED) abort();
    state.counts = static_cast<std::atomic<std::uint64_t>*>(shared);
  }
  if (const char* const log = getenv("FAULT_LOG"))
    state.log = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  state.active = true;
}

/// Asks the program to stop, and waits until its thread for signals has heard of it.
void ask_to_stop() {
  kill(getpid(), SIGTERM);
  sigset_t pending;
  do {
    usleep(1000);
    sigpending(&pending);
  } while (sigismember(&pending, SIGTERM) == 1);
  usleep(1000);
}

bool is_due(Group group) {
  const std::uint64_t count = ++state.counts[group];
  return state.group == group && (count == state.at || (state.always && count > state.at));
}

/// Decides the fate of this call. Sets errno for a failure; a kill has already happened on return.
Fault fault_in(Group group, bool changes) {
  bool due = is_due(group);
  if (changes) due = is_due(kChange) || due;
  if (!due) return Fault::kNone;
  if (state.fault == Fault::kKill) kill(getpid(), SIGKILL);
  if (state.fault == Fault::kStop) raise(SIGSTOP);
  if (state.fault == Fault::kCrash) raise(SIGSEGV);
  if (state.fault == Fault::kTerm) {
    ask_to_stop();
    return Fault::kNone;
  }
  if (state.fault == Fault::kErrno) errno = state.error;
  return state.fault;
}

bool is_ours(const char* path) {
  return state.active && path != nullptr && strncmp(path, state.root, state.root_length) == 0;
}
bool is_ours(int fd) {
  return state.active && fd >= 0 && static_cast<std::size_t>(fd) < kFiles &&
         state.files[static_cast<std::size_t>(fd)];
}
bool is_ours(int directory, const char* path) {
  return path != nullptr && (path[0] == '/' ? is_ours(path) : is_ours(directory));
}

int remembered(int fd, bool ours) {
  if (fd >= 0 && static_cast<std::size_t>(fd) < kFiles)
    state.files[static_cast<std::size_t>(fd)] = ours;
  return fd;
}

void note(const char* what, unsigned long inode) {
  const int before = errno;
  if (state.log >= 0) dprintf(state.log, "%s %lu\n", what, inode);
  errno = before;
}

void note(const char* what, int fd) {
  struct stat status {};
  if (state.log >= 0 && fstat(fd, &status) == 0) note(what, status.st_ino);
}

void note_rename(int directory, const char* to) {
  struct stat status {};
  if (state.log < 0 || fstatat(directory, to, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  note("renamed", status.st_ino);
  const char* const name = strrchr(to, '/');
  std::array<char, PATH_MAX> folder{'.'};
  if (name != nullptr) memcpy(folder.data(), to, static_cast<std::size_t>(name - to));
  if (fstatat(directory, folder.data(), &status, 0) == 0) note("wrote", status.st_ino);
}

/// Wraps a call that either works or fails.
template <class Call>
int whole(bool ours, Group group, bool changes, const Call& call) {
  if (ours && fault_in(group, changes) == Fault::kErrno) return -1;
  return call();
}

template <class Call>
int syncing(int fd, const Call& call) {
  const int done = whole(is_ours(fd), kSync, true, call);
  if (done == 0 && is_ours(fd)) note("synced", fd);
  return done;
}

template <class Call>
int renaming(bool ours, int to_at, const char* to, const Call& call) {
  const int done = whole(ours, kRename, true, call);
  if (done == 0 && ours) note_rename(to_at, to);
  return done;
}

template <class Call>
int opening(bool ours, int flags, const Call& call) {
  if (ours && fault_in(kOpen, (flags & (O_CREAT | O_TRUNC)) != 0) == Fault::kErrno) return -1;
  return remembered(call(), ours);
}

/// Wraps a call that moves `size` bytes: `call(n)` moves n of them.
template <class Call>
ssize_t moving(int fd, Group group, std::size_t size, const Call& call) {
  if (!is_ours(fd)) return call(size);
  if (group != kRead) note("wrote", fd);
  switch (fault_in(group, group != kRead)) {
    case Fault::kErrno:
      return -1;
    case Fault::kShort:
      return call((size + 1) / 2);
    case Fault::kTorn: {
      const ssize_t n = call(size / 2);
      kill(getpid(), SIGKILL);
      return n;
    }
    default:
      return call(size);
  }
}

bool no_memory() { return state.active && fault_in(kAlloc, false) == Fault::kErrno; }

}  // namespace

#define REAL(name) \
  static const auto real = reinterpret_cast<decltype(&::name)>(dlsym(RTLD_NEXT, #name))
#define MODE(flags)                             \
  mode_t mode = 0;                              \
  if (((flags) & (O_CREAT | O_TMPFILE)) != 0) { \
    va_list list;                               \
    va_start(list, flags);                      \
    mode = va_arg(list, mode_t);                \
    va_end(list);                               \
  }

extern "C" {

int open(const char* path, int flags, ...) {
  REAL(open);
  MODE(flags)
  return opening(is_ours(path), flags, [&] { return real(path, flags, mode); });
}
int open64(const char* path, int flags, ...) {
  REAL(open64);
  MODE(flags)
  return opening(is_ours(path), flags, [&] { return real(path, flags, mode); });
}
int openat(int directory, const char* path, int flags, ...) {
  REAL(openat);
  MODE(flags)
  return opening(is_ours(directory, path), flags,
                 [&] { return real(directory, path, flags, mode); });
}
int openat64(int directory, const char* path, int flags, ...) {
  REAL(openat64);
  MODE(flags)
  return opening(is_ours(directory, path), flags,
                 [&] { return real(directory, path, flags, mode); });
}
FILE* fopen(const char* path, const char* how) {
  REAL(fopen);
  if (is_ours(path) && fault_in(kOpen, how[0] != 'r') == Fault::kErrno) return nullptr;
  FILE* const file = real(path, how);
  if (file != nullptr) remembered(fileno(file), is_ours(path));
  return file;
}
FILE* fopen64(const char* path, const char* how) { return fopen(path, how); }
DIR* opendir(const char* path) {
  REAL(opendir);
  if (is_ours(path) && fault_in(kOpen, false) == Fault::kErrno) return nullptr;
  return real(path);
}

ssize_t read(int fd, void* to, size_t size) {
  REAL(read);
  return moving(fd, kRead, size, [&](size_t n) { return real(fd, to, n); });
}
ssize_t pread(int fd, void* to, size_t size, off_t at) {
  REAL(pread);
  return moving(fd, kRead, size, [&](size_t n) { return real(fd, to, n, at); });
}
ssize_t pread64(int fd, void* to, size_t size, off64_t at) {
  REAL(pread64);
  return moving(fd, kRead, size, [&](size_t n) { return real(fd, to, n, at); });
}
ssize_t preadv2(int fd, const iovec* to, int count, off_t at, int flags) {
  REAL(preadv2);
  return moving(fd, kRead, 1, [&](size_t) { return real(fd, to, count, at, flags); });
}
ssize_t write(int fd, const void* from, size_t size) {
  REAL(write);
  return moving(fd, kWrite, size, [&](size_t n) { return real(fd, from, n); });
}
ssize_t writev(int fd, const iovec* from, int count) {
  REAL(writev);
  return moving(fd, kWrite, 1, [&](size_t) { return real(fd, from, count); });
}
ssize_t sendfile(int to, int from, off_t* at, size_t size) noexcept {
  REAL(sendfile);
  return moving(to, kWrite, size, [&](size_t n) { return real(to, from, at, n); });
}
ssize_t copy_file_range(int from, off64_t* at, int to, off64_t* to_at, size_t size,
                        unsigned flags) {
  REAL(copy_file_range);
  return moving(to, kWrite, size, [&](size_t n) { return real(from, at, to, to_at, n, flags); });
}
ssize_t pwrite(int fd, const void* from, size_t size, off_t at) {
  REAL(pwrite);
  return moving(fd, kPwrite, size, [&](size_t n) { return real(fd, from, n, at); });
}
ssize_t pwrite64(int fd, const void* from, size_t size, off64_t at) {
  REAL(pwrite64);
  return moving(fd, kPwrite, size, [&](size_t n) { return real(fd, from, n, at); });
}

int fsync(int fd) {
  REAL(fsync);
  return syncing(fd, [&] { return real(fd); });
}
int fdatasync(int fd) {
  REAL(fdatasync);
  return syncing(fd, [&] { return real(fd); });
}
int syncfs(int fd) noexcept {
  REAL(syncfs);
  const int done = whole(is_ours(fd), kSync, true, [&] { return real(fd); });
  if (done == 0 && is_ours(fd)) note("synced", 0UL);
  return done;
}

int rename(const char* from, const char* to) noexcept {
  REAL(rename);
  return renaming(is_ours(from), AT_FDCWD, to, [&] { return real(from, to); });
}
int renameat(int from_at, const char* from, int to_at, const char* to) noexcept {
  REAL(renameat);
  return renaming(is_ours(from_at, from), to_at, to,
                  [&] { return real(from_at, from, to_at, to); });
}
int renameat2(int from_at, const char* from, int to_at, const char* to, unsigned flags) noexcept {
  REAL(renameat2);
  return renaming(is_ours(from_at, from), to_at, to,
                  [&] { return real(from_at, from, to_at, to, flags); });
}
int link(const char* from, const char* to) noexcept {
  REAL(link);
  return whole(is_ours(to), kLink, true, [&] { return real(from, to); });
}
int linkat(int from_at, const char* from, int to_at, const char* to, int flags) noexcept {
  REAL(linkat);
  return whole(is_ours(to_at, to), kLink, true,
               [&] { return real(from_at, from, to_at, to, flags); });
}
int symlink(const char* text, const char* path) noexcept {
  REAL(symlink);
  return whole(is_ours(path), kLink, true, [&] { return real(text, path); });
}
int symlinkat(const char* text, int directory, const char* path) noexcept {
  REAL(symlinkat);
  return whole(is_ours(directory, path), kLink, true, [&] { return real(text, directory, path); });
}
int unlink(const char* path) noexcept {
  REAL(unlink);
  return whole(is_ours(path), kUnlink, true, [&] { return real(path); });
}
int unlinkat(int directory, const char* path, int flags) noexcept {
  REAL(unlinkat);
  return whole(is_ours(directory, path), kUnlink, true,
               [&] { return real(directory, path, flags); });
}
int remove(const char* path) noexcept {
  REAL(remove);
  return whole(is_ours(path), kUnlink, true, [&] { return real(path); });
}
int rmdir(const char* path) noexcept {
  REAL(rmdir);
  return whole(is_ours(path), kUnlink, true, [&] { return real(path); });
}
int mkdir(const char* path, mode_t mode) noexcept {
  REAL(mkdir);
  return whole(is_ours(path), kMkdir, true, [&] { return real(path, mode); });
}
int mkdirat(int directory, const char* path, mode_t mode) noexcept {
  REAL(mkdirat);
  return whole(is_ours(directory, path), kMkdir, true, [&] { return real(directory, path, mode); });
}
int ftruncate(int fd, off_t size) noexcept {
  REAL(ftruncate);
  return whole(is_ours(fd), kTruncate, true, [&] { return real(fd, size); });
}
int ftruncate64(int fd, off64_t size) noexcept {
  REAL(ftruncate64);
  return whole(is_ours(fd), kTruncate, true, [&] { return real(fd, size); });
}
int truncate(const char* path, off_t size) noexcept {
  REAL(truncate);
  return whole(is_ours(path), kTruncate, true, [&] { return real(path, size); });
}
int fallocate(int fd, int mode, off_t at, off_t size) {
  REAL(fallocate);
  return whole(is_ours(fd), kTruncate, true, [&] { return real(fd, mode, at, size); });
}
/// Like Linux: closes the descriptor whatever close(2) returns.
int close(int fd) {
  REAL(close);
  const bool ours = is_ours(fd);
  remembered(fd, false);
  const bool fails = ours && fault_in(kClose, false) == Fault::kErrno;
  const int error = errno;
  const int done = real(fd);
  if (!fails) return done;
  errno = error;
  return -1;
}
int flock(int fd, int how) noexcept {
  REAL(flock);
  return whole(is_ours(fd), kLock, false, [&] { return real(fd, how); });
}
void* mmap(void* where, size_t size, int protection, int flags, int fd, off_t at) noexcept {
  REAL(mmap);
  if (is_ours(fd) && fault_in(kMap, false) == Fault::kErrno) return MAP_FAILED;
  return real(where, size, protection, flags, fd, at);
}
void* mmap64(void* where, size_t size, int protection, int flags, int fd, off64_t at) noexcept {
  return mmap(where, size, protection, flags, fd, at);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                   void* argument) {
  REAL(pthread_create);
  // Few threads are made, so their arguments are never freed.
  void* const memory = state.active ? __libc_malloc(sizeof(ThreadStart)) : nullptr;
  if (memory == nullptr) return real(thread, attributes, routine, argument);
  return real(thread, attributes, start_thread, new (memory) ThreadStart{routine, argument});
}

/// What libraries call that end the program themselves, with a code that no command of ours has.
void exit(int code) {
  REAL(exit);
  if (state.active && (code & 0xff) == 0xff) print_frames();
  real(code);
  __builtin_unreachable();
}

void* malloc(size_t size) noexcept { return no_memory() ? nullptr : __libc_malloc(size); }
void* calloc(size_t count, size_t size) noexcept {
  return no_memory() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) noexcept {
  return no_memory() ? nullptr : __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) noexcept {
  return no_memory() ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  const int before = errno;
  void* const made = memalign(alignment, size);
  errno = before;
  if (made == nullptr) return ENOMEM;
  *memory = made;
  return 0;
}

}  // extern "C"
