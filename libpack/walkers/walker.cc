#include "walkers/walker.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include "base/process.h"
#include "base/stop.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kPollMs = 100;

/// A pair of sockets rather than a pipe: a write to a closed socket can be told to raise no
/// SIGPIPE.
struct Pipe {
  UniqueFd read, write;
  Pipe() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
      throw_errno("make a pipe for", "the process that checks shards");
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
};

}  // namespace

void Walker::start() {
  Pipe in, out;
  // What a library prints about a damaged file is no part of our output. A Ctrl-C reaches only us,
  // and we end the process.
  pid_ = start_process(command_, {.in = in.read.get(), .out = out.write.get(), .quiet = true},
                       ProcessGroup::kOwn);
  to_ = std::move(in.write);
  from_ = std::move(out.read);
  pending_.clear();
}

void Walker::end() {
  to_.reset();
  from_.reset();
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

/// Handles a process that ended in the middle of a walk.
WalkEnd Walker::died() {
  WalkEnd end;
  int status = 0;
  const pid_t pid = std::exchange(pid_, -1);
  ::kill(-pid, SIGKILL);
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  end.detail = "the process that checked it ended";
  if (WIFSIGNALED(status)) {
    end.kind = WalkEnd::Kind::kCrashed;
    end.signal = WTERMSIG(status);
  }
  return end;
}

bool Walker::send(const std::string& line) {
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t n = ::send(to_.get(), line.data() + at, line.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    at += static_cast<std::size_t>(n);
  }
  return true;
}

WalkEnd Walker::run(const WalkTask& task, const WalkBounds& bounds, double wall_s,
                    const WalkLines& lines) {
  if (pid_ < 0) start();
  if (!send(task_line(task, bounds))) return died();
  const auto deadline = Clock::now() + std::chrono::duration<double>(wall_s);
  std::array<char, 16384> buffer{};
  while (true) {
    for (std::size_t end = pending_.find('\n'); end != std::string::npos;
         end = pending_.find('\n')) {
      const std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      std::optional<WalkEnd> ended = parse_end(line);
      if (!ended) {
        lines(line);
        continue;
      }
      // A failed walk is reported twice, by the child and by the process that waited for it; nobody
      // reads the second report.
      if (ended->kind == WalkEnd::Kind::kFailed) this->end();
      return std::move(*ended);
    }
    if (current_stop().stop_requested()) {
      end();
      throw Error(ErrorKind::kInterrupted, "stopped on request");
    }
    if (Clock::now() > deadline) {
      end();
      return {WalkEnd::Kind::kTime, 0, -1, {}};
    }
    pollfd one{from_.get(), POLLIN, 0};
    if (::poll(&one, 1, kPollMs) <= 0) continue;
    const ssize_t n = ::read(from_.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return died();
    pending_.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

WalkBounds bounds_for(std::uint64_t file_bytes, std::uint64_t content_bytes) {
  constexpr std::uint64_t kLeastMemory = std::uint64_t{1} << 30;
  constexpr std::uint64_t kLeastCpu = 10;            // seconds
  constexpr std::uint64_t kBytesPerCpu = 10u << 20;  // per second: a tenth of what any walk manages
  // LMDB maps the whole file.
  return {kLeastCpu + (content_bytes + file_bytes) / kBytesPerCpu, kLeastMemory + 2 * file_bytes};
}

double wall_time(const WalkBounds& bounds) {
  constexpr double kWallPerCpu = 6;  // storage may be slow, and the machine busy
  return kWallPerCpu * static_cast<double>(bounds.cpu_s);
}

WalkEnd WalkerPool::run(const WalkTask& task, const WalkBounds& bounds, double wall_s,
                        const WalkLines& lines) {
  std::unique_ptr<Walker> walker;
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      walker = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!walker) walker = std::make_unique<Walker>(command_);
  WalkEnd end = walker->run(task, bounds, wall_s, lines);
  const std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(walker));
  return end;
}

std::shared_ptr<WalkerPool> make_walkers(std::vector<std::string> command) {
  return std::make_shared<WalkerPool>(std::move(command));
}

std::shared_ptr<WalkerPool> walkers_of_this_program() {
  return make_walkers({"/proc/self/exe", std::string(kWalkArgument)});
}

}  // namespace packhorse
