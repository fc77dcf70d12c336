#include "help/help_files.h"

#include <fmt/chrono.h>

#include <cstdlib>
#include <ctime>

#include "help/completions.h"
#include "help/manual.h"
#include "packhorse/base/decimal.h"
#include "packhorse/base/file.h"

namespace packhorse::help {

namespace fs = std::filesystem;

namespace {

std::string date() {
  std::time_t at = std::time(nullptr);
  if (const char* const epoch = std::getenv("SOURCE_DATE_EPOCH"); epoch != nullptr)
    at = static_cast<std::time_t>(parse_decimal(epoch).value_or(0));
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(at));
}

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  write_file(file, as_bytes(text));
}

}  // namespace

void write_help_files(const CLI::App& program, const std::string& version, const fs::path& folder) {
  const Release release{version, date()};
  const std::string name = program.get_name();
  write(folder / "man/man1" / (name + ".1"), program_manual(program, release));
  for (const CommandHelp& command : subcommands_help(program)) {
    write(folder / "man/man1" / (name + "-" + command.name + ".1"),
          command_manual(program, command, release));
  }
  write(folder / "bash-completion/completions" / name, bash_completion(program));
  write(folder / "zsh/site-functions" / ("_" + name), zsh_completion(program));
  write(folder / "fish/vendor_completions.d" / (name + ".fish"), fish_completion(program));
}

}  // namespace packhorse::help
