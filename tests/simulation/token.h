#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "simulation/chance.h"

/// The workers of a simulated world are real processes with real threads, of which one has the
/// token and runs, while the world (world.h) and all others wait. What would wait in the kernel,
/// for a lock, another thread, the network or a moment, hands the token over instead; so does every
/// call now and then that others could notice. The C library's functions for all of these are
/// replaced in this program (threads.cc, clock.cc, files.cc, network_library.cc): nothing in
/// packhorse knows of it.
namespace packhorse::simulation {

constexpr std::size_t kMostThreads = 1024, kMostProcesses = 64, kMostMachines = 4;
constexpr std::size_t kMostMail = std::size_t{24} << 20;
constexpr std::uint64_t kNever = ~std::uint64_t{0};

enum class Doing : std::uint32_t { kNothing, kReady, kWaiting };

/// A thread of a worker. Belongs to whoever has the token.
struct ThreadState {
  std::atomic<std::uint32_t> go{0};  ///< the token
  Doing doing = Doing::kNothing;
  std::uint32_t process = 0, number = 0;
  const void* waits_for = nullptr;  ///< means something within its process only
  std::uint64_t until = kNever;     ///< in virtual time; then it goes on anyway
  bool timed_out = false;
  char at[200] = {};  ///< the call it is at, for traces
};

/// What a thread wants when it hands the token over.
enum class Want : std::uint32_t {
  kGoOn,   ///< nothing: it is at a call where anything may happen
  kFail,   ///< the same, and the call may fail
  kShort,  ///< the same, and the call may do a part of its work
  kWait,   ///< to wait
  kEnd,    ///< the thread is over
  kExit,   ///< the process is over; the mail says how
  kSend,   ///< the mail is a request to the storage
  kTake,   ///< the next answer in the mail
};

/// Memory of the world and all workers.
struct Shared {
  std::atomic<std::uint32_t> called{0};  ///< the token has come back to the world
  std::uint32_t caller = 0;              ///< by which thread
  Want want = Want::kGoOn;
  int error = 0;            ///< the world's answer to kFail and kShort: an errno, or 0
  bool half = false;        ///< and to kShort
  std::uint32_t calls = 1;  ///< so many more until a thread hands over by itself
  std::uint64_t now = 0;    ///< virtual time since the begin, ns
  Chance chance;
  struct Machine {
    std::int64_t clock_off = 0;  ///< of its clock on the wall, ns
    bool disk_full = false;
  } machines[kMostMachines];
  struct Process {
    std::uint32_t machine = 0, threads = 0;
    std::uint32_t answers = 0;  ///< that have arrived
    const void* polls = nullptr;
  } processes[kMostProcesses];
  std::uint32_t threads_used = 0;  ///< at most so many of the following at once
  ThreadState threads[kMostThreads];
  std::span<ThreadState> known_threads() { return {threads, threads_used}; }
  std::uint64_t requests = 0;     ///< numbered so far
  std::uint64_t mail_number = 0;  ///< of the request that the mail is about
  std::size_t mail_bytes = 0;
  char mail[kMostMail];
};

extern Shared* shared;
extern thread_local ThreadState* self;  ///< null in threads that are no worker's

/// In a worker's thread that has the token.
Shared::Process& own_process();
Shared::Machine& own_machine();
/// Makes another thread of this process known. It waits for the token first of all.
ThreadState* new_thread(std::uint32_t process);
void wait_for_token(ThreadState& thread);
/// The world's, which then waits for it: false when it has not come back for a second.
bool give_token(ThreadState& thread);
bool await_token();
void hand_over(Want want);
/// Waits for wake() with the same key, or until a moment. False when that has come.
bool wait_for(const void* key, std::uint64_t until, const char* what);
/// Lets `most` threads of this process that wait for `key` go on.
void wake(const void* key, std::uint64_t most = kNever);
/// A call that others could notice, on a path or an open file. Returns an errno with which it must
/// fail, where it may, or 0. With `half`, it may have to do half of its work.
int at_call(const char* call, const char* path, int fd, bool may_fail, bool* half = nullptr);

}  // namespace packhorse::simulation
