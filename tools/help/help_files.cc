#include "help/help_files.h"

#include <fmt/chrono.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "base/byte_size.h"
#include "base/file.h"

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

/// A name as part of a shell function's.
std::string identifier(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string all_names(const CommandHelp& command) {
  std::vector<std::string> names;
  for (const OptionHelp& option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return fmt::format("{}", fmt::join(names, " "));
}

std::string command_names(const std::vector<CommandHelp>& commands) {
  std::vector<std::string> names;
  for (const CommandHelp& command : commands) names.push_back(command.name);
  return fmt::format("{}", fmt::join(names, " "));
}

/// The patterns "pack:-f | pack:--format" of bash's `case`.
std::vector<std::string> patterns(const CommandHelp& command, OptionHelp::Value value) {
  std::vector<std::string> all;
  for (const OptionHelp& option : command.options)
    if (option.value == value)
      for (const std::string& name : option.names) all.push_back(command.name + ":" + name);
  return all;
}

std::string bash_values(const CommandHelp& command) {
  std::string text;
  for (const OptionHelp& option : command.options) {
    if (option.value != OptionHelp::Value::kChoice) continue;
    std::vector<std::string> names;
    for (const std::string& name : option.names) names.push_back(command.name + ":" + name);
    text += fmt::format("    {}) _packhorse_offer '{}' ;;\n", fmt::join(names, " | "),
                        fmt::join(option.choices, " "));
  }
  const std::vector<std::string> numbers = patterns(command, OptionHelp::Value::kNumber);
  const std::vector<std::string> texts = patterns(command, OptionHelp::Value::kText);
  if (!numbers.empty())
    text += fmt::format("    {}) _packhorse_offer '' ;;\n", fmt::join(numbers, " | "));
  if (!texts.empty()) text += fmt::format("    {}) ;;\n", fmt::join(texts, " | "));
  return text;
}

/// Completion for bash: subcommands, options, the choices of an option, and file names where any
/// text may stand.
std::string bash_completion(const CLI::App& program) {
  const std::vector<CommandHelp> commands = subcommands_help(program);
  const std::string name = program.get_name();
  std::string values, options;
  for (const CommandHelp& command : commands) {
    values += bash_values(command);
    options += fmt::format("    {}) _packhorse_offer '{}' ;;\n", command.name, all_names(command));
  }
  return fmt::format(
      R"(# Completion of {0} for bash. Made by `{0} help-files`.
# Offers these words for $cur, and no files.
_packhorse_offer() {{
  compopt +o default 2>/dev/null
  COMPREPLY=($(compgen -W "$1" -- "$cur")) || :  # zsh has no mapfile
}}

_{1}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} command='' i
  # Bash takes the = of --option=value for a word.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    prev=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD && ${{#command}} == 0; i++)); do
    [[ ${{COMP_WORDS[i]}} == -* ]] || command=${{COMP_WORDS[i]}}
  done
  COMPREPLY=()
  case $command:$prev in
{2}    *)
      case $command:$cur in
        :-*) _packhorse_offer '{3}' ;;
        :*) _packhorse_offer '{4}' ;;
        *:-*)
          case $command in
{5}          esac
          ;;
      esac
      ;;
  esac
}}
complete -o default -F _{1} {0}
)",
      name, identifier(name), values, all_names(command_help(program)), command_names(commands),
      options);
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
}

}  // namespace packhorse::help
