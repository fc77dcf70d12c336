#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "adopting/describe.h"
#include "base/file.h"
#include "packhorse/base/error.h"
#include "packhorse/verify/verify.h"
#include "verify/shard.h"
#include "walkers/walk_protocol.h"

namespace packhorse {

namespace {

/// How the child that does a walk reports its end.
enum ExitCode : int { kDone = 0, kNoMemory = 1, kFailed = 2 };

void say(const std::string& line) {
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t n = ::write(STDOUT_FILENO, line.data() + at, line.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) _exit(kFailed);  // nobody is listening any more
    at += static_cast<std::size_t>(n);
  }
}

void limit(__rlimit_resource resource, rlim_t soft, rlim_t hard) {
  const rlimit value{soft, hard};
  ::setrlimit(resource, &value);
}

/// The address space in use: the libraries take a good part of it before they do anything.
std::uint64_t address_space() {
  std::uint64_t pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "re"); file != nullptr) {
    if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void bound(const WalkBounds& bounds) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  limit(RLIMIT_CPU, bounds.cpu_s, bounds.cpu_s + 1);
  const std::uint64_t memory = address_space() + bounds.memory_bytes;
  limit(RLIMIT_AS, memory, memory);
  // 1, not 0: the size limit does not bound a core that is piped to a program.
  limit(RLIMIT_CORE, 1, 1);
}

[[noreturn]] void work(const WalkTask& task, const WalkBounds& bounds,
                       std::atomic<std::int64_t>& row) {
  bound(bounds);
  std::set_terminate(std::abort);  // a crash, and reported as one
  try {
    if (task.kind == WalkTask::Kind::kDescribe) {
      describe_in_lines(task, row, say);
    } else {
      walk(task, row, [](const WalkFinding& finding) { say(finding_line(finding)); });
    }
  } catch (const std::bad_alloc&) {
    _exit(kNoMemory);
  } catch (const std::exception& error) {
    say(end_line({WalkEnd::Kind::kFailed, 0, row, error.what()}));
    _exit(kFailed);
  }
  _exit(kDone);
}

WalkEnd end_of(int status, std::int64_t row) {
  if (WIFEXITED(status)) {
    switch (WEXITSTATUS(status)) {
      case kDone:
        return {WalkEnd::Kind::kDone, 0, row, {}};
      case kNoMemory:
        return {WalkEnd::Kind::kMemory, 0, row, {}};
      default:
        return {WalkEnd::Kind::kFailed, 0, row, "it ended by itself"};
    }
  }
  const int number = WTERMSIG(status);
  if (number == SIGXCPU) return {WalkEnd::Kind::kTime, 0, row, {}};
  return {WalkEnd::Kind::kCrashed, number, row, {}};
}

/// Waits until the child is gone, which closes its end of `lifeline`. Kills the child when nobody
/// waits for an answer any more.
int wait_for(pid_t child, int lifeline) {
  std::array<pollfd, 2> both = {{{lifeline, POLLIN, 0}, {STDIN_FILENO, 0, 0}}};
  while (::poll(both.data(), both.size(), -1) < 0 && errno == EINTR) {
  }
  const bool abandoned = both[0].revents == 0;
  if (abandoned) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (abandoned) _exit(kDone);
  return status;
}

/// The next line of standard input; nothing at its end.
std::optional<std::string> next_line(std::string& pending) {
  std::array<char, 4096> buffer{};
  std::size_t end = pending.find('\n');
  while (end == std::string::npos) {
    const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    pending.append(buffer.data(), static_cast<std::size_t>(n));
    end = pending.find('\n');
  }
  std::string line = pending.substr(0, end);
  pending.erase(0, end + 1);
  return line;
}

}  // namespace

int serve_walks() {
  void* shared = ::mmap(nullptr, sizeof(std::atomic<std::int64_t>), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return kFailed;
  auto& row = *new (shared) std::atomic<std::int64_t>(-1);
  std::string pending;
  while (const std::optional<std::string> line = next_line(pending)) {
    const auto task = parse_task(*line);
    if (!task) return kFailed;
    std::array<int, 2> lifeline{};
    if (::pipe2(lifeline.data(), O_CLOEXEC) != 0) return kFailed;
    UniqueFd watched(lifeline[0]), held(lifeline[1]);
    row = -1;
    const pid_t child = ::fork();
    if (child < 0) return kFailed;
    if (child == 0) work(task->first, task->second, row);
    held.reset();
    const int status = wait_for(child, watched.get());
    // The newline ends a line that a crash may have cut off.
    say("\n" + end_line(end_of(status, row)));
  }
  return kDone;
}

}  // namespace packhorse
