#include "simulation/token.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "simulation/real.h"

namespace packhorse::simulation {

Shared* shared = nullptr;
thread_local ThreadState* self = nullptr;

namespace {

/// The C library's own, as syscall(2) is replaced, too.
long futex(std::atomic<std::uint32_t>* word, int what, std::uint32_t value,
           const timespec* most = nullptr) {
  PACKHORSE_REAL(syscall);
  return real(SYS_futex, word, what, value, most);
}

void raise_flag(std::atomic<std::uint32_t>& flag) {
  flag.store(1);
  futex(&flag, FUTEX_WAKE, 1);
}

void take_flag(std::atomic<std::uint32_t>& flag) {
  while (flag.exchange(0) == 0) futex(&flag, FUTEX_WAIT, 0);
}

}  // namespace

Shared::Process& own_process() { return shared->processes[self->process]; }
Shared::Machine& own_machine() { return shared->machines[own_process().machine]; }

ThreadState* new_thread(std::uint32_t process) {
  for (ThreadState& thread : shared->threads) {
    if (thread.doing != Doing::kNothing) continue;
    const auto place = static_cast<std::uint32_t>(&thread - shared->threads);
    shared->threads_used = std::max(shared->threads_used, place + 1);
    thread.go = 0;
    thread.doing = Doing::kReady;
    thread.process = process;
    thread.number = shared->processes[process].threads++;
    thread.waits_for = nullptr;
    thread.until = kNever;
    std::snprintf(thread.at, sizeof thread.at, "begin");
    return &thread;
  }
  std::fprintf(stderr, "simulation: too many threads\n");
  ::_exit(99);
}

void wait_for_token(ThreadState& thread) { take_flag(thread.go); }

bool await_token() {
  const timespec second{1, 0};
  while (shared->called.exchange(0) == 0) {
    if (futex(&shared->called, FUTEX_WAIT, 0, &second) < 0 && errno == ETIMEDOUT &&
        shared->called == 0)
      return false;
  }
  return true;
}

bool give_token(ThreadState& thread) {
  raise_flag(thread.go);
  return await_token();
}

void hand_over(Want want) {
  const int before = errno;
  ThreadState& thread = *self;
  shared->caller = static_cast<std::uint32_t>(&thread - shared->threads);
  shared->want = want;
  shared->error = 0;
  shared->half = false;
  raise_flag(shared->called);
  if (want != Want::kEnd) wait_for_token(thread);
  errno = before;
}

bool wait_for(const void* key, std::uint64_t until, const char* what) {
  ThreadState& thread = *self;
  thread.doing = Doing::kWaiting;
  thread.waits_for = key;
  thread.until = until;
  thread.timed_out = false;
  std::snprintf(thread.at, sizeof thread.at, "%s", what);
  hand_over(Want::kWait);
  return !thread.timed_out;
}

void wake(const void* key, std::uint64_t most) {
  for (ThreadState& thread : shared->known_threads()) {
    if (most == 0) return;
    if (thread.doing != Doing::kWaiting || thread.waits_for != key ||
        thread.process != self->process)
      continue;
    thread.doing = Doing::kReady;
    --most;
  }
}

int at_call(const char* call, const char* path, int fd, bool may_fail, bool* half) {
  if (--shared->calls > 0) return 0;
  char name[150] = {};
  if (path == nullptr) {
    char link[32];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (::readlink(link, name, sizeof name - 1) > 0) path = name;
  }
  std::snprintf(self->at, sizeof self->at, "%s %s", call, path == nullptr ? "" : path);
  hand_over(half != nullptr ? Want::kShort : may_fail ? Want::kFail : Want::kGoOn);
  if (half != nullptr) *half = shared->half;
  return shared->error;
}

}  // namespace packhorse::simulation
