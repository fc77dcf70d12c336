/// Time in workers is that of their world.
#include <sys/time.h>
#include <time.h>

#include "simulation/real.h"
#include "simulation/token.h"

namespace packhorse::simulation {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kBegin = 1'900'000'000 * kSecond;  // in the year 2030, for clocks on walls

std::int64_t wall_time() {
  return kBegin + static_cast<std::int64_t>(shared->now) + own_machine().clock_off;
}

std::int64_t time_of(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE
             ? wall_time()
             : kSecond + static_cast<std::int64_t>(shared->now);
}

}  // namespace

std::uint64_t moment_of(clockid_t clock, const timespec& time) {
  const std::int64_t left =
      static_cast<std::int64_t>(time.tv_sec) * kSecond + time.tv_nsec - time_of(clock);
  return shared->now + static_cast<std::uint64_t>(left > 0 ? left : 0);
}

}  // namespace packhorse::simulation

using namespace packhorse::simulation;

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  PACKHORSE_REAL(clock_gettime);
  if (self == nullptr || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID)
    return real(clock, time);
  shared->now += 100;  // whoever looks at the clock until it has moved comes to an end
  const std::int64_t now = time_of(clock);
  *time = {now / kSecond, now % kSecond};
  return 0;
}

int gettimeofday(timeval* time, void* zone) noexcept {
  PACKHORSE_REAL(gettimeofday);
  if (self == nullptr) return real(time, zone);
  *time = {wall_time() / kSecond, wall_time() % kSecond / 1000};
  return 0;
}

time_t time(time_t* to) noexcept {
  PACKHORSE_REAL(time);
  if (self == nullptr) return real(to);
  const time_t now = wall_time() / kSecond;
  if (to != nullptr) *to = now;
  return now;
}

int nanosleep(const timespec* time, timespec* left) {
  PACKHORSE_REAL(nanosleep);
  if (self == nullptr) return real(time, left);
  wait_for(nullptr,
           shared->now + static_cast<std::uint64_t>(time->tv_sec * kSecond + time->tv_nsec),
           "sleep");
  return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  PACKHORSE_REAL(clock_nanosleep);
  if (self == nullptr) return real(clock, flags, time, left);
  if ((flags & TIMER_ABSTIME) == 0) return nanosleep(time, left);
  wait_for(nullptr, moment_of(clock, *time), "sleep");
  return 0;
}

}  // extern "C"
