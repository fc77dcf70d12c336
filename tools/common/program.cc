#include "common/program.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "packhorse/error.h"
#include "packhorse/file.h"

namespace packhorse::program {

namespace {

std::atomic<int> first_signal{0};

/// Turns SIGINT and SIGTERM into a stop request. Must exist before any other thread starts, so that
/// all of them inherit the blocked signals and only this one sees them.
class SignalWatch {
 public:
  SignalWatch() {
    sigemptyset(&signals_);
    for (const int number : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&signals_, number);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    signal(SIGPIPE, SIG_IGN);  // a closed stdout is a failed write, not a silent death
    thread_ = std::thread([this] { watch(); });
  }

  ~SignalWatch() {
    ending_ = true;
    pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }

  std::stop_token token() const { return source_.get_token(); }

 private:
  void watch() {
    std::chrono::steady_clock::time_point first_at;
    while (true) {
      int number = 0;
      sigwait(&signals_, &number);
      if (ending_) return;
      if (number == SIGUSR1) continue;
      const auto now = std::chrono::steady_clock::now();
      if (first_signal != 0 && now - first_at > std::chrono::seconds(1)) _exit(128 + number);
      if (first_signal != 0) continue;
      first_signal = number;
      first_at = now;
      source_.request_stop();
    }
  }

  sigset_t signals_{};
  std::stop_source source_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

int exit_code_of(const Error& error, int signal_received) {
  switch (error.kind()) {
    case ErrorKind::kUsage:
      return kUsage;
    case ErrorKind::kCorrupt:
    case ErrorKind::kRejected:
      return kDamage;
    case ErrorKind::kInterrupted:
      return 128 + (signal_received != 0 ? signal_received : SIGINT);
    default:
      return kFailed;
  }
}

void print_error(const char* program, const Error& error) {
  std::string text = fmt::format("{}: error: {}", program, error.what());
  if (!error.path().empty()) text += fmt::format("\n  where: {}", error.path().string());
  if (!error.key().empty())
    text += fmt::format("{}sample {}", error.path().empty() ? "\n  where: " : ", ", error.key());
  if (!error.advice().empty()) text += fmt::format("\n  next:  {}", error.advice());
  std::fputs((text + "\n").c_str(), stderr);
}

/// Values that no option and no argument can have: a URL, which nothing reads or writes yet, and
/// nothing at all, which would be as if the option had not been given.
void check_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results()) {
      refuse_url(value);
      if (!value.empty() || option->get_expected_min() == 0) continue;  // 0: it needs no value
      throw Error(ErrorKind::kUsage, "the value of " + option->get_name() + " is empty", {},
                  "leave it out, or say what it is");
    }
  }
}

/// stdout may be a full disk or a closed pipe; losing output must not look like success.
int flushed(const char* program, int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fputs(fmt::format("{}: error: cannot write to standard output\n", program).c_str(), stderr);
  return code == kDone ? kFailed : code;
}

}  // namespace

int received_signal() { return first_signal; }

std::string to_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int run_program(const ProgramInfo& program, int argc, char** argv) {
  const SignalWatch signals;
  CLI::App app(program.summary, program.name);
  app.require_subcommand(1);
  app.set_version_flag("--version", program.version_text,
                       "Version of the program and of the libraries it runs with");
  app.set_help_all_flag("--help-all", "Help of all subcommands");
  std::vector<std::pair<CLI::App*, std::unique_ptr<Command>>> commands;
  for (const CommandKind& kind : program.commands) {
    CLI::App* sub = app.add_subcommand(kind.name, kind.summary);
    commands.emplace_back(sub, kind.make());
    commands.back().second->setup(*sub);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return flushed(program.name, app.exit(error) == 0 ? kDone : kUsage);
  }
  try {
    for (const auto& [sub, command] : commands) {
      if (!sub->parsed()) continue;
      check_values(*sub);
      return flushed(program.name, command->run(signals.token()));
    }
  } catch (const Error& error) {
    print_error(program.name, error);
    return flushed(program.name, exit_code_of(error, received_signal()));
  } catch (const std::exception& error) {
    print_error(program.name, Error(ErrorKind::kIo, error.what()));
    return flushed(program.name, kFailed);
  }
  return kUsage;
}

}  // namespace packhorse::program
