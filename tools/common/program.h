#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

/// What packhorse and packhorse-train have in common: subcommands, exit codes, the wording of
/// errors, signals.
namespace packhorse::program {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kDamage = 3,
  kSigint = 130,
  kSigterm = 143
};

using Json = nlohmann::ordered_json;

/// One JSON object as --json prints it: printable_json(), so text that is no UTF-8 (file names may
/// be anything) is replaced character by character, never refused.
std::string to_text(const Json& json);

/// One subcommand. setup() only declares options; run() does the work and returns the exit code.
class Command {
 public:
  virtual ~Command() = default;
  virtual void setup(CLI::App& app) = 0;
  virtual int run(const std::stop_token& stop) = 0;
};

/// Declares an option of a number of bytes, which takes what parse_bytes() does.
CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& bytes,
                      const std::string& description);

/// Declares an option that is no more: who gives it is told, as a usage error, to run `instead`.
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
/// code, also for the want of memory and for exceptions that leave a thread: then the process ends
/// there and then. Writes that cannot be done fail, without a signal. SIGINT and SIGTERM request a
/// stop; another one a second later or more ends the process at once (a terminal and a launcher may
/// both send the first).
int run_program(const ProgramInfo& program, int argc, char** argv);

/// The signal that requested the stop, or 0.
int received_signal();

}  // namespace packhorse::program
