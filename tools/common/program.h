#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "reports/report_json.h"

/// What packhorse and packhorse-train share: subcommands, exit codes, the wording of errors, and
/// signals.
namespace packhorse::program {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kDamage = 3,
  kSigint = 130,
  kSigpipe = 141,
  kSigterm = 143
};

using Json = ReportJson;

/// One subcommand. setup() only declares options; run() does the work and returns the exit code.
class Command {
 public:
  virtual ~Command() = default;
  virtual void setup(CLI::App& app) = 0;
  /// SIGINT or SIGTERM request the stop of the thread (base/stop.h): within 2 s in whatever it
  /// does.
  virtual int run() = 0;
};

/// Declares an option that takes a number of bytes, in the forms parse_byte_size() accepts.
CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& bytes,
                      const std::string& description);

/// Declares -j, --jobs: the number of threads; 0, the default, is one for each CPU.
CLI::Option* add_jobs(CLI::App& app, int& jobs);

/// Declares -q, --quiet. A run that succeeds then prints no progress and no summary; errors,
/// warnings and what was asked for (a table, --json) stay. `silences` says in the help what goes.
CLI::Option* add_quiet(CLI::App& app, bool& quiet, const std::string& silences);
constexpr const char* kProgressAndSummary = "no progress and, on success, no summary";
constexpr const char* kProgress = "no progress";

/// Declares an option that no longer exists: using it is a usage error that says to run `instead`.
void add_moved(CLI::App& app, const std::string& name, const std::string& instead);

struct CommandKind {
  const char* name;
  const char* summary;
  std::unique_ptr<Command> (*make)();
};

struct ProgramInfo {
  const char* name;
  const char* summary;
  std::span<const CommandKind> commands;
  std::string (*version_text)();
};

/// Parses the command line, runs the subcommand, words its errors on stderr and returns the exit
/// code. It also reports a lack of memory and exceptions that leave a thread; the process then ends
/// at once. Writes that fail are errors and raise no signal; when nobody reads standard output any
/// more, as in `packhorse ... | head`, the program ends as if by SIGPIPE, without a word. SIGINT
/// and SIGTERM request a stop; another one a second or more later ends the process at once (a
/// terminal and a launcher may both send the first).
int run_program(const ProgramInfo& program, int argc, char** argv);

/// The signal that requested the stop, or 0.
int received_signal();
/// From then on a second SIGTERM does not end the program at once, as schedulers send several while
/// they wait; SIGINT still does.
void be_patient();

}  // namespace packhorse::program
