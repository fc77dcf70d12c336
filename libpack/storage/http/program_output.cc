#include "storage/http/program_output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "base/file.h"
#include "base/process.h"
#include "base/stop.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr int kLookMs = 10;
using ProcessClock = std::chrono::steady_clock;

/// A process and what it prints. Left before its end, it is ended with everything it started.
class PrintingProcess {
 public:
  PrintingProcess(const std::vector<std::string>& command, std::chrono::milliseconds most_time,
                  bool quiet)
      : name_(command.front()), until_(ProcessClock::now() + most_time) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("make a pipe for", name_);
    from_.reset(ends[0]);
    const UniqueFd to(ends[1]), nothing = open_file("/dev/null", O_RDONLY);
    if (!nothing) throw_errno("open", "/dev/null");
    process_ = start_process(command, {.in = nothing.get(), .out = to.get(), .quiet = quiet},
                             ProcessGroup::kOwn);
  }
  ~PrintingProcess() {
    if (process_ < 0) return;
    ::kill(-process_, SIGKILL);
    uninterrupted([&] { return ::waitpid(process_, nullptr, 0); });
  }
  PrintingProcess(const PrintingProcess&) = delete;
  PrintingProcess& operator=(const PrintingProcess&) = delete;

  /// What it prints until it ends its output or has printed too much; nothing when time is over.
  std::optional<std::string> output(std::size_t most) {
    std::string text;
    std::array<char, 4096> piece{};
    while (text.size() <= most) {
      if (is_over()) return std::nullopt;
      pollfd wait{from_.get(), POLLIN, 0};
      if (::poll(&wait, 1, kLookMs) <= 0) continue;
      const ssize_t n =
          uninterrupted([&] { return ::read(from_.get(), piece.data(), piece.size()); });
      if (n < 0) throw_errno("read the output of", name_);
      if (n == 0) return text;
      text.append(piece.data(), static_cast<std::size_t>(n));
    }
    return text;
  }

  /// Nothing when time is over.
  std::optional<int> status() {
    while (!is_over()) {
      int status = 0;
      const pid_t ended = uninterrupted([&] { return ::waitpid(process_, &status, WNOHANG); });
      if (ended != 0) process_ = -1;
      if (ended < 0) throw_errno("wait for", name_);
      if (ended > 0) return status;
      ::poll(nullptr, 0, kLookMs);
    }
    return std::nullopt;
  }

 private:
  bool is_over() const {
    obey_stop();
    return ProcessClock::now() >= until_;
  }

  const std::string name_;
  const ProcessClock::time_point until_;
  UniqueFd from_;
  pid_t process_ = -1;
};

}  // namespace

std::optional<ProgramOutput> output_of(const std::vector<std::string>& command,
                                       std::size_t most_bytes, std::chrono::milliseconds most_time,
                                       bool quiet) {
  PrintingProcess process(command, most_time, quiet);
  std::optional<std::string> text = process.output(most_bytes);
  if (!text) return std::nullopt;
  if (text->size() > most_bytes) return ProgramOutput{std::move(*text), {}};
  const std::optional<int> status = process.status();
  if (!status) return std::nullopt;
  return ProgramOutput{std::move(*text), status};
}

}  // namespace packhorse
