#include "help/completions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace packhorse::help {

namespace {

using Value = OptionHelp::Value;

/// A name as part of a shell function's.
std::string identifier(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// Puts `escape` before each of `characters`.
std::string with_escapes(const std::string& text, std::string_view characters, const char* escape) {
  std::string out;
  for (const char c : text) {
    if (characters.find(c) != std::string_view::npos) out += escape;
    out += c;
  }
  return out;
}

/// 'text', as sh and zsh read it: a quote of its own is '\''.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
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
std::vector<std::string> patterns(const CommandHelp& command, Value value) {
  std::vector<std::string> all;
  for (const OptionHelp& option : command.options)
    if (option.value == value)
      for (const std::string& name : option.names) all.push_back(command.name + ":" + name);
  return all;
}

std::string bash_values(const CommandHelp& command) {
  std::string text;
  for (const OptionHelp& option : command.options) {
    if (option.value != Value::kChoice) continue;
    std::vector<std::string> names;
    for (const std::string& name : option.names) names.push_back(command.name + ":" + name);
    text += fmt::format("    {}) _packhorse_offer '{}' ;;\n", fmt::join(names, " | "),
                        fmt::join(option.choices, " "));
  }
  const std::vector<std::string> numbers = patterns(command, Value::kNumber);
  const std::vector<std::string> texts = patterns(command, Value::kText);
  if (!numbers.empty())
    text += fmt::format("    {}) _packhorse_offer '' ;;\n", fmt::join(numbers, " | "));
  if (!texts.empty()) text += fmt::format("    {}) ;;\n", fmt::join(texts, " | "));
  return text;
}

std::string zsh_option(const OptionHelp& option) {
  const std::string summary = with_escapes(option.summary(), "[]:\\", "\\");
  std::string value;
  if (option.value == Value::kChoice) {
    value = fmt::format(":value:({})", fmt::join(option.choices, " "));
  } else if (option.value == Value::kNumber) {
    value = ":number: ";
  } else if (option.value == Value::kText) {
    value = ":value:_files";
  }
  std::string text;
  for (const std::string& name : option.names) {
    const std::string others = option.is_repeated() || option.names.size() == 1
                                   ? std::string(option.is_repeated() ? "*" : "")
                                   : fmt::format("({})", fmt::join(option.names, " "));
    const bool takes_equal = name.starts_with("--") && option.value != Value::kNone;
    text += fmt::format(" \\\n        {}", quoted(others + name + (takes_equal ? "=" : "") + "[" +
                                                  summary + "]" + value));
  }
  return text;
}

std::string zsh_options(const CommandHelp& command) {
  std::string text;
  for (const OptionHelp& option : command.options) text += zsh_option(option);
  return text;
}

/// 'text' as fish reads it.
std::string fish_quoted(const std::string& text) {
  return "'" + with_escapes(text, "'\\", "\\") + "'";
}

std::string fish_options(const CommandHelp& command, const std::string& line) {
  std::string text;
  for (const OptionHelp& option : command.options) {
    text += line;
    for (const std::string& name : option.names)
      text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (option.value == Value::kChoice)
      text +=
          fmt::format(" -x -a {}", fish_quoted(fmt::format("{}", fmt::join(option.choices, " "))));
    if (option.value == Value::kNumber) text += " -x";
    if (option.value == Value::kText) text += " -r -F";
    text += " -d " + fish_quoted(option.summary()) + "\n";
  }
  return text;
}

}  // namespace

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
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
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

std::string zsh_completion(const CLI::App& program) {
  const std::string name = program.get_name();
  std::string list, cases;
  for (const CommandHelp& command : subcommands_help(program)) {
    list += "    " +
            quoted(with_escapes(command.name, ":", "\\") + ":" + command.app->get_description()) +
            "\n";
    cases += fmt::format("      {})\n        _arguments -s{} \\\n        '*:file:_files' ;;\n",
                         command.name, zsh_options(command));
  }
  return fmt::format(
      R"(#compdef {0}
# Completion of {0} for zsh. Made by `{0} help-files`.
_{1}() {{
  local context state state_descr line curcontext=$curcontext
  typeset -A opt_args
  local -a subcommands=(
{2}  )
  _arguments -C{3} \
        '1:subcommand:->subcommand' '*::argument:->argument'
  case $state in
    subcommand) _describe subcommand subcommands ;;
    argument)
      case $words[1] in
{4}      esac ;;
  esac
}}
_{1} "$@"
)",
      name, identifier(name), list, zsh_options(command_help(program)), cases);
}

std::string fish_completion(const CLI::App& program) {
  const std::string name = program.get_name();
  std::string text = fmt::format("# Completion of {0} for fish. Made by `{0} help-files`.\n", name);
  const std::string first = fmt::format("complete -c {} -n __fish_use_subcommand", name);
  text += first + " -f\n" + fish_options(command_help(program), first);
  for (const CommandHelp& command : subcommands_help(program)) {
    text += fmt::format("{} -a {} -d {}\n", first, command.name,
                        fish_quoted(command.app->get_description()));
    text += fish_options(command, fmt::format("complete -c {} -n '__fish_seen_subcommand_from {}'",
                                              name, command.name));
  }
  return text;
}

}  // namespace packhorse::help
