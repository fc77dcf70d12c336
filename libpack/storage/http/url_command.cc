#include "storage/http/url_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "packhorse/base/process.h"
#include "packhorse/storage/url.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostPrinted = 16u << 10;
constexpr std::size_t kMostUrls = 4096;

[[noreturn]] void refuse_command(ErrorKind kind, const std::string& program,
                                 const std::string& what) {
  throw Error(kind, "the command for URLs " + what, program,
              "run it by hand with an object's name as its last argument: it must print one URL");
}

/// A process and what it prints, ended with everything it started.
class Printer {
 public:
  explicit Printer(const std::vector<std::string>& command) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("make a pipe for", command.front());
    from_.reset(ends[0]);
    const UniqueFd to(ends[1]);
    const UniqueFd nothing = open_file("/dev/null", O_RDONLY);
    // env looks for the program where a shell would.
    std::vector<std::string> line = {"/usr/bin/env", "--"};
    line.insert(line.end(), command.begin(), command.end());
    process_ = start_process(line, {.in = nothing.get(), .out = to.get()}, ProcessGroup::kOwn);
  }
  ~Printer() { end(); }
  Printer(const Printer&) = delete;
  Printer& operator=(const Printer&) = delete;

  /// What it prints until it ends, or kMostPrinted bytes and one more; false when the time is over.
  bool read(std::string& text, std::chrono::steady_clock::time_point until) {
    std::array<char, 4096> piece{};
    while (text.size() <= kMostPrinted) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(
          until - std::chrono::steady_clock::now());
      pollfd wait{from_.get(), POLLIN, 0};
      if (left.count() <= 0) return false;
      const int ready = ::poll(&wait, 1, static_cast<int>(std::min<std::int64_t>(
                                             left.count(), 60'000)));
      if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
      const ssize_t n = ::read(from_.get(), piece.data(), piece.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return true;
      text.append(piece.data(), static_cast<std::size_t>(n));
    }
    return true;
  }
  /// Ends what is left of it; its status as of waitpid(2).
  int end() {
    if (process_ < 0) return status_;
    from_.reset();
    // It has closed its output, so it is about to end by itself, unless it is stopped here.
    for (int tries = 0; tries < 100 && ::waitpid(process_, &status_, WNOHANG) == 0; ++tries) {
      if (tries == 99) {
        ::kill(-process_, SIGKILL);
        status_ = wait_for_process(process_);
        break;
      }
      ::poll(nullptr, 0, 10);
    }
    process_ = -1;
    return status_;
  }

 private:
  UniqueFd from_;
  pid_t process_ = -1;
  int status_ = 0;
};

}  // namespace

UrlCommand::UrlCommand(std::vector<std::string> command, std::chrono::milliseconds most)
    : command_(std::move(command)), most_(most) {}

std::string UrlCommand::url(const std::string& name) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = urls_.find(name);
    if (found != urls_.end()) return found->second;
  }
  std::string url = run(name);
  const std::lock_guard lock(mutex_);
  if (urls_.size() >= kMostUrls) urls_.clear();
  return urls_[name] = std::move(url);
}

void UrlCommand::forget(const std::string& name) {
  const std::lock_guard lock(mutex_);
  urls_.erase(name);
}

std::string UrlCommand::run(const std::string& name) const {
  const std::string& program = command_.front();
  std::vector<std::string> command = command_;
  command.push_back(name);
  Printer printer(command);
  std::string text;
  if (!printer.read(text, std::chrono::steady_clock::now() + most_))
    refuse_command(ErrorKind::kIo, program, "takes too long");
  if (text.size() > kMostPrinted)
    refuse_command(ErrorKind::kCorrupt, program, "prints more than 16 KiB");
  const int status = printer.end();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    refuse_command(ErrorKind::kIo, program, "failed");
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  try {
    const Url url = parse_url(text);
    if (url.scheme == "http" || url.scheme == "https") return text;
  } catch (const Error&) {
    // What was printed may be a secret, and a mistyped one at that.
  }
  refuse_command(ErrorKind::kCorrupt, program, "prints something else than one URL of http(s)");
}

}  // namespace packhorse
