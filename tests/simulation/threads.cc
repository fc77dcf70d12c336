/// Threads of workers: one runs at a time, and what they wait for is known to their world.
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <map>
#include <random>

#include "simulation/real.h"
#include "simulation/token.h"

namespace packhorse::simulation {

std::uint64_t moment_of(clockid_t clock, const timespec& time);

namespace {

struct Start {
  void* (*routine)(void*);
  void* argument;
  ThreadState* state;
};

/// The threads of this process that can be joined. Looked at by whoever has the token.
std::map<pthread_t, ThreadState*>& joinable() {
  static auto* const threads = new std::map<pthread_t, ThreadState*>;
  return *threads;
}

/// A thread is over when its destructors are: those of this key run in all the rounds that there
/// are.
void end_thread(void* round);
pthread_key_t end_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, end_thread);
    return made;
  }();
  return key;
}

void end_thread(void* round) {
  const auto rounds = reinterpret_cast<std::uintptr_t>(round);
  if (rounds < 4) {
    pthread_setspecific(end_key(), reinterpret_cast<void*>(rounds + 1));
    return;
  }
  for (auto& [thread, state] : joinable())
    if (state == self) state = nullptr;
  wake(self);
  self->doing = Doing::kNothing;
  hand_over(Want::kEnd);
  self = nullptr;
}

void* run_thread(void* given) {
  const Start start = *static_cast<Start*>(given);
  delete static_cast<Start*>(given);
  self = start.state;
  wait_for_token(*self);
  pthread_setspecific(end_key(), reinterpret_cast<void*>(1));
  return start.routine(start.argument);
}

template <class Try>
int take(void* what, const char* name, const Try& attempt) {
  int code = attempt();
  while (code == EBUSY) {
    wait_for(what, kNever, name);
    code = attempt();
  }
  return code;
}

int wait_on(pthread_cond_t* condition, pthread_mutex_t* mutex, std::uint64_t until) {
  pthread_mutex_unlock(mutex);
  const bool woken = wait_for(condition, until, "a condition");
  pthread_mutex_lock(mutex);
  return woken ? 0 : ETIMEDOUT;
}

/// std::atomic::wait(), std::future and TBB. Those of other processes are none.
long wait_on_word(std::uint32_t* word, int what, std::uint32_t value, const timespec* time,
                  std::uint64_t most) {
  const int command = what & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
  if (command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET) {
    wake(word, most);
    return 0;
  }
  if (*word != value) {
    errno = EAGAIN;
    return -1;
  }
  std::uint64_t until = kNever;
  if (time != nullptr && command == FUTEX_WAIT) {
    until = shared->now + static_cast<std::uint64_t>(time->tv_sec) * 1'000'000'000 +
            static_cast<std::uint64_t>(time->tv_nsec);
  } else if (time != nullptr) {
    until = moment_of((what & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, *time);
  }
  if (wait_for(word, until, "a word")) return 0;
  errno = ETIMEDOUT;
  return -1;
}

}  // namespace

}  // namespace packhorse::simulation

using namespace packhorse::simulation;

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                   void* argument) noexcept {
  PACKHORSE_REAL(pthread_create);
  if (self == nullptr) return real(thread, attributes, routine, argument);
  end_key();
  auto* const start = new Start{routine, argument, new_thread(self->process)};
  const int code = real(thread, attributes, run_thread, start);
  if (code != 0) {
    start->state->doing = Doing::kNothing;
    return code;
  }
  joinable()[*thread] = start->state;
  return 0;
}

int pthread_join(pthread_t thread, void** result) {
  PACKHORSE_REAL(pthread_join);
  if (self != nullptr) {
    const auto found = joinable().find(thread);
    while (found != joinable().end() && found->second != nullptr)
      wait_for(found->second, kNever, "a thread's end");
    if (found != joinable().end()) joinable().erase(found);
  }
  return real(thread, result);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  PACKHORSE_REAL(pthread_mutex_lock);
  if (self == nullptr) return real(mutex);
  at_call("lock", "a mutex", -1, false);
  return take(mutex, "a mutex", [&] { return pthread_mutex_trylock(mutex); });
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  PACKHORSE_REAL(pthread_mutex_unlock);
  const int code = real(mutex);
  if (self != nullptr) wake(mutex);
  return code;
}

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  PACKHORSE_REAL(pthread_rwlock_rdlock);
  if (self == nullptr) return real(lock);
  return take(lock, "a lock to read", [&] { return pthread_rwlock_tryrdlock(lock); });
}

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  PACKHORSE_REAL(pthread_rwlock_wrlock);
  if (self == nullptr) return real(lock);
  return take(lock, "a lock to write", [&] { return pthread_rwlock_trywrlock(lock); });
}

int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  PACKHORSE_REAL(pthread_rwlock_unlock);
  const int code = real(lock);
  if (self != nullptr) wake(lock);
  return code;
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  PACKHORSE_REAL(pthread_cond_wait);
  return self == nullptr ? real(condition, mutex) : wait_on(condition, mutex, kNever);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* time) {
  PACKHORSE_REAL(pthread_cond_timedwait);
  if (self == nullptr) return real(condition, mutex, time);
  return wait_on(condition, mutex, moment_of(CLOCK_REALTIME, *time));
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* time) {
  PACKHORSE_REAL(pthread_cond_clockwait);
  if (self == nullptr) return real(condition, mutex, clock, time);
  return wait_on(condition, mutex, moment_of(clock, *time));
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  PACKHORSE_REAL(pthread_cond_signal);
  if (self == nullptr) return real(condition);
  wake(condition, 1);
  return 0;
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  PACKHORSE_REAL(pthread_cond_broadcast);
  if (self == nullptr) return real(condition);
  wake(condition);
  return 0;
}

/// With the values of the C library's: 0 not yet, 1 under way, 2 done.
int pthread_once(pthread_once_t* once, void (*routine)()) {
  PACKHORSE_REAL(pthread_once);
  if (self == nullptr) return real(once, routine);
  while (*once == 1) wait_for(once, kNever, "what is done once");
  if (*once == 2) return 0;
  *once = 1;
  try {
    routine();
  } catch (...) {
    *once = 0;
    wake(once);
    throw;
  }
  *once = 2;
  wake(once);
  return 0;
}

int sched_yield() noexcept {
  PACKHORSE_REAL(sched_yield);
  if (self == nullptr) return real();
  wait_for(nullptr, shared->now + 1000, "a turn");
  return 0;
}

long syscall(long number, ...) noexcept {
  PACKHORSE_REAL(syscall);
  long given[6];
  va_list list;
  va_start(list, number);
  for (long& one : given) one = va_arg(list, long);
  va_end(list);
  if (self == nullptr || number != SYS_futex)
    return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
  return wait_on_word(reinterpret_cast<std::uint32_t*>(given[0]), static_cast<int>(given[1]),
                      static_cast<std::uint32_t>(given[2]),
                      reinterpret_cast<const timespec*>(given[3]),
                      static_cast<std::uint64_t>(given[2]));
}

pid_t getpid() noexcept {
  PACKHORSE_REAL(getpid);
  return self == nullptr ? real() : static_cast<pid_t>(1000 + self->process);
}

}  // extern "C"

/// What names of temporary files and pauses are drawn from.
std::random_device::result_type std::random_device::_M_getval() {
  if (self != nullptr) return static_cast<result_type>(shared->chance.next());
  return static_cast<result_type>(::time(nullptr) ^ ::getpid());
}
