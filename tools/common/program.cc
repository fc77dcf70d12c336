#include "common/program.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <initializer_list>
#include <new>
#include <system_error>
#include <thread>

#include "base/byte_size.h"
#include "base/option.h"
#include "base/output_file.h"
#include "base/printable.h"
#include "base/process.h"
#include "base/stop.h"
#include "base/text.h"
#include "common/options.h"
#include "common/terminal.h"
#include "help/help_files.h"
#include "help/help_text.h"
#include "packhorse/base/error.h"

namespace packhorse::program {

namespace {

std::atomic<int> first_signal{0};
std::atomic<bool> patient{false};  ///< a second SIGTERM changes nothing

/// Turns SIGINT and SIGTERM into a stop request. Must exist before any other thread starts, so that
/// all of them inherit the blocked signals and only this one sees them.
class SignalWatch {
 public:
  SignalWatch() {
    sigemptyset(&signals_);
    for (const int number : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&signals_, number);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
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
      if (first_signal != 0 && number == SIGTERM && first_signal == SIGTERM && patient) continue;
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
  std::string text = fmt::format("{}: error: {}", program, printable_text(spelled(error.what())));
  if (!error.path().empty())
    text += "\n  where: " + without_secrets(printable(error.path().native()));
  if (!error.key().empty())
    text += (error.path().empty() ? "\n  where: sample " : ", sample ") +
            without_secrets(printable(error.key()));
  const std::string advice = spelled(error.advice());
  const char* before = "\n  next:  ";  // it may have several lines
  for (std::string_view rest = advice; !rest.empty(); before = "\n         ") {
    const std::string_view line = take_part(rest, '\n');
    text += before + printable_text(line);
  }
  std::fputs((text + "\n").c_str(), stderr);
}

/// Says why standard output cannot be written to, once.
int report_lost_output(const char* program, const std::error_code& why) {
  static std::atomic_flag said;
  if (!said.test_and_set())
    print_error(program, Error(ErrorKind::kIo, "cannot write to standard output: " + why.message(),
                               {}, "free some space there, or write to another place"));
  return kFailed;
}

/// stdout may be a full disk; losing output must not look like success. If the reader of a pipe has
/// closed it, the program ends as if by SIGPIPE.
int flushed(const char* program, int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  const std::error_code why(errno, std::generic_category());
  if (reader_is_gone(STDOUT_FILENO)) return kSigpipe;
  const int failed = report_lost_output(program, why);
  return code == kDone ? failed : code;
}

/// "packhorse pack". Written before other threads are started.
std::array<char, 64> where{};
const char* program_name = "";

constexpr std::string_view kMoreMemory =
    "\n  next:  raise the memory limit (ulimit -v, or the container's), or use fewer threads and "
    "smaller batches\n";

/// Prints without allocating memory.
void print_plainly(std::initializer_list<std::string_view> pieces) {
  for (const std::string_view piece : pieces) {
    [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, piece.data(), piece.size());
  }
}

/// Puts any other exception into words. TBB says only in its text that no thread can be started.
Error error_of(const std::exception& error) {
  const auto no_more = std::make_error_code(std::errc::resource_unavailable_try_again);
  if (std::string_view(error.what()).find(no_more.message()) == std::string_view::npos)
    return {ErrorKind::kIo, error.what()};
  return {ErrorKind::kIo, std::string("cannot start a thread: ") + error.what(), where.data(),
          "raise the limits on memory (ulimit -v) and processes (ulimit -u), or use fewer threads"};
}

/// Words the exception that is being handled, and returns the exit code.
int report_failure() noexcept try {
  try {
    throw;
  } catch (const Error& error) {
    print_error(program_name, error);
    return exit_code_of(error, received_signal());
  } catch (const std::filesystem::filesystem_error& error) {
    print_error(program_name, packhorse::error_of(error));
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::broken_pipe && reader_is_gone(STDOUT_FILENO)) return kSigpipe;
    if (std::ferror(stdout) != 0) return report_lost_output(program_name, error.code());
    print_error(program_name, error_of(error));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    print_error(program_name, error_of(error));
  }
  return kFailed;
} catch (const std::bad_alloc&) {
  print_plainly({program_name, ": error: out of memory\n  where: ", where.data(), kMoreMemory});
  return kFailed;
} catch (...) {
  print_plainly({program_name, ": error: an unknown error\n  where: ", where.data(), "\n"});
  return kFailed;
}

/// Handles an exception that nothing can catch: it left a thread, a library's boundary, or an
/// object made before main().
[[noreturn]] void end_with_words() {
  static std::atomic_flag ending;
  while (ending.test_and_set()) ::pause();  // another thread is about to end the process
  if (std::current_exception()) ::_exit(report_failure());
  if (std::uncaught_exceptions() == 0) std::abort();
  // The exception left a noexcept function, and GCC before 14 does not give its type there.
  print_plainly({program_name,
                 ": error: a library cannot continue, most likely because memory ran out\n",
                 "  where: ", where.data(), kMoreMemory});
  ::_exit(kFailed);
}

struct Crash {
  int number;
  std::string_view name;
};
constexpr std::array<Crash, 5> kCrashes = {{{SIGSEGV, "SIGSEGV"},
                                            {SIGBUS, "SIGBUS"},
                                            {SIGFPE, "SIGFPE"},
                                            {SIGILL, "SIGILL"},
                                            {SIGABRT, "SIGABRT"}}};

/// Prints words first, then lets the signal take its course: a library crashed, as HDF5 does when
/// memory is short.
void crash_with_words(int number) {
  constexpr std::string_view kNext =
      "\n"
      "  next:  run the same command again, with more memory if it ran short: nothing unfinished "
      "has been published\n";
  const auto crash = std::ranges::find(kCrashes, number, &Crash::number);
  print_plainly(
      {program_name, ": error: crashed by ", crash->name, "\n  where: ", where.data(), kNext});
  std::signal(number, SIG_DFL);
  std::raise(number);
}

/// Installs crash_with_words() for signals without a handler; those of sanitizers and the like
/// stay.
void word_crashes() {
  for (const auto& [number, name] : kCrashes) {
    struct sigaction there {};
    if (::sigaction(number, nullptr, &there) == 0 && there.sa_handler == SIG_DFL)
      std::signal(number, crash_with_words);
  }
}

/// Runs before the objects in libraries' headers (CLI11's) are made, since these need memory. 101
/// is the first priority that programs may use.
[[gnu::constructor(101)]] void word_failures() {
  program_name = program_invocation_short_name;
  std::snprintf(where.data(), where.size(), "%s", program_name);
  std::set_terminate(end_with_words);
}

}  // namespace

void be_patient() { patient = true; }

int received_signal() { return first_signal; }

CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& bytes,
                      const std::string& description) {
  const auto take = [&bytes](const std::string& text) { bytes = parse_byte_size(text); };
  constexpr std::uint64_t kMebi = 1u << 20;
  return app.add_option_function<std::string>(name, take, description)
      ->type_name("SIZE")
      ->default_str(bytes % kMebi == 0 ? fmt::format("{}MiB", bytes / kMebi)
                                       : std::to_string(bytes));
}

CLI::Option* add_jobs(CLI::App& app, int& jobs) {
  return app.add_option("-j,--jobs", jobs, "Threads; 0 = one for each CPU this process may use")
      ->capture_default_str();
}

CLI::Option* add_quiet(CLI::App& app, bool& quiet, const std::string& silences) {
  return app.add_flag("-q,--quiet", quiet, "Print " + silences + "; errors and warnings stay");
}

void add_moved(CLI::App& app, const std::string& name, const std::string& instead) {
  const auto refuse = [=](const std::vector<std::string>&) {
    throw Error(ErrorKind::kUsage, name + " is now a subcommand", {},
                "run `" + instead + "`; its --help says more");
  };
  app.add_option_function<std::vector<std::string>>(name, refuse)->expected(0, 1)->group("");
}

namespace {

/// Declares the hidden subcommand with which the build makes man pages and completions.
CLI::App* add_help_files(CLI::App& app, std::string& folder) {
  CLI::App* sub =
      app.add_subcommand("help-files", "Write the man pages and completions")->group("");
  sub->add_option("folder", folder, "Folder to write them to")->required();
  return sub;
}

/// Keeps the order of what is printed on both streams when they go to one file: stdout is then
/// written line by line, as stderr is.
void keep_order_of_streams() {
  struct stat out {
  }, err{};
  if (::fstat(STDOUT_FILENO, &out) != 0 || ::fstat(STDERR_FILENO, &err) != 0) return;
  if (out.st_dev == err.st_dev && out.st_ino == err.st_ino)
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
}

int run_command(const ProgramInfo& program, int argc, char** argv) {
  const SignalWatch signals;
  CLI::App app(program.summary, program.name);
  app.formatter(std::make_shared<help::HelpText>(text_width()));
  app.require_subcommand(1);
  app.set_version_flag("-V,--version", program.version_text,
                       "Print the versions of the program and of its libraries");
  app.set_help_all_flag("--help-all", "Print all options of all subcommands");
  std::string help_folder;
  const CLI::App* const help_files = add_help_files(app, help_folder);
  std::vector<std::pair<CLI::App*, std::unique_ptr<Command>>> commands;
  for (const CommandKind& kind : program.commands) {
    CLI::App* sub = app.add_subcommand(kind.name, kind.summary);
    sub->set_help_all_flag("--help-all", "Print this help message with all options");
    commands.emplace_back(sub, kind.make());
    commands.back().second->setup(*sub);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0)
      throw usage_error(app, error, std::vector<std::string>(argv + 1, argv + argc));
    app.exit(error);  // prints the help or the version
    return flushed(program.name, kDone);
  }
  if (help_files->parsed()) {
    const std::string version = program.version_text();
    help::write_help_files(app, version.substr(0, version.find('\n')), help_folder);
    return kDone;
  }
  for (const auto& [sub, command] : commands) {
    if (!sub->parsed()) continue;
    check_values(*sub);
    std::snprintf(where.data(), where.size(), "%s %s", program.name, sub->get_name().c_str());
    const StopScope scope(signals.token());
    return flushed(program.name, command->run());
  }
  return kUsage;
}

}  // namespace

int run_program(const ProgramInfo& program, int argc, char** argv) {
  program_name = program.name;
  std::snprintf(where.data(), where.size(), "%s", program.name);
  spell_options(&kShellSpelling);
  keep_order_of_streams();
  ignore_write_signals();
  word_crashes();
  try {
    return run_command(program, argc, argv);
  } catch (...) {
    const int code = flushed(program.name, report_failure());
    // Skips what the libraries do at exit, which may need memory, too.
    ::_exit(code);
  }
}

}  // namespace packhorse::program
