#include "storage/http/url_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "packhorse/base/process.h"
#include "packhorse/storage/url.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostPrinted = 16u << 10;
constexpr std::size_t kMostUrls = 4096;
constexpr int kLookMs = 10;
using UrlClock = std::chrono::steady_clock;

[[noreturn]] void refuse_command(ErrorKind kind, const std::string& program,
                                 const std::string& what) {
  throw Error(kind, "the command for URLs " + what, program,
              "run it by hand with an object's name as its last argument: it must print one URL");
}

bool is_over(UrlClock::time_point until) { return UrlClock::now() >= until; }

/// A process and what it prints. Left before its end, it is ended with everything it started.
class UrlPrinter {
 public:
  explicit UrlPrinter(const std::vector<std::string>& command) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("make a pipe for", command.front());
    from_.reset(ends[0]);
    const UniqueFd to(ends[1]), nothing = open_file("/dev/null", O_RDONLY);
    if (!nothing) throw_errno("open", "/dev/null");
    // env looks for the program where a shell would.
    std::vector<std::string> line = {"/usr/bin/env", "--"};
    line.insert(line.end(), command.begin(), command.end());
    process_ = start_process(line, {.in = nothing.get(), .out = to.get()}, ProcessGroup::kOwn);
  }
  ~UrlPrinter() {
    if (process_ < 0) return;
    ::kill(-process_, SIGKILL);
    uninterrupted([&] { return ::waitpid(process_, nullptr, 0); });
  }
  UrlPrinter(const UrlPrinter&) = delete;
  UrlPrinter& operator=(const UrlPrinter&) = delete;

  /// What it prints until it ends its output, or a little more than kMostPrinted bytes; nothing
  /// when the time is over.
  std::optional<std::string> output(UrlClock::time_point until) {
    std::string text;
    std::array<char, 4096> piece{};
    while (text.size() <= kMostPrinted) {
      if (is_over(until)) return std::nullopt;
      pollfd wait{from_.get(), POLLIN, 0};
      if (::poll(&wait, 1, kLookMs) <= 0) continue;
      const ssize_t n =
          uninterrupted([&] { return ::read(from_.get(), piece.data(), piece.size()); });
      if (n <= 0) return text;
      text.append(piece.data(), static_cast<std::size_t>(n));
    }
    return text;
  }

  /// As waitpid(2) gives it; nothing when the time is over.
  std::optional<int> status(UrlClock::time_point until) {
    while (!is_over(until)) {
      int status = 0;
      if (::waitpid(process_, &status, WNOHANG) == process_) {
        process_ = -1;
        return status;
      }
      ::poll(nullptr, 0, kLookMs);
    }
    return std::nullopt;
  }

 private:
  UniqueFd from_;
  pid_t process_ = -1;
};

/// What may stand in a request line as it is.
bool is_plain_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

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
  const auto until = UrlClock::now() + most_;
  UrlPrinter printer(command);
  std::optional<std::string> text = printer.output(until);
  if (text && text->size() > kMostPrinted)
    refuse_command(ErrorKind::kCorrupt, program, "prints more than 16 KiB");
  const std::optional<int> status = text ? printer.status(until) : std::nullopt;
  if (!status) refuse_command(ErrorKind::kIo, program, "takes too long");
  if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0)
    refuse_command(ErrorKind::kIo, program, "failed");
  text->erase(text->find_last_not_of(" \t\r\n") + 1);
  try {
    const Url url = parse_url(*text);
    if (url.scheme != "s3" && is_plain_text(*text)) return *text;
  } catch (const Error&) {
    // What was printed may be a secret, and a mistyped one at that.
  }
  refuse_command(ErrorKind::kCorrupt, program, "prints something else than one URL of http(s)");
}

}  // namespace packhorse
