#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "help/help_files.h"
#include "help/help_text.h"

namespace packhorse::help {

namespace {

constexpr const char* kExitStatus =
    ".SH EXIT STATUS\n"
    ".TP\n0\nDone.\n"
    ".TP\n1\nFailed.\n"
    ".TP\n2\nThe command line is wrong.\n"
    ".TP\n3\nInputs were rejected, damage was found, or datasets differ.\n"
    ".TP\n130, 143\nInterrupted by SIGINT or SIGTERM.\n";

/// Text as roff prints it unchanged: no line of it is taken for a request.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool at_start = out.empty() || out.back() == '\n';
    if (at_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-' || c == '\'' || c == '`' || c == '^' || c == '~') {
      out += c == '-'    ? "\\-"
             : c == '\'' ? "\\(aq"
             : c == '`'  ? "\\(ga"
             : c == '^'  ? "\\(ha"
                         : "\\(ti";
    } else {
      out += c;
    }
  }
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string lower_first(std::string text) {
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0)
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  while (text.ends_with('.')) text.pop_back();
  return text;
}

/// Lines as they are, in a fixed layout.
std::string verbatim(const std::string& lines) { return ".nf\n" + escaped(lines) + "\n.fi\n"; }

/// Filled text; lines that begin with spaces keep their own place, as roff does with them.
std::string filled(const std::string& text) { return escaped(text) + "\n"; }

/// A paragraph of a footer: its first line, and the lines indented below it.
struct Paragraph {
  std::string head, lines;
  /// "Examples:", "Image modes:" with their lines.
  bool is_section() const {
    return !lines.empty() && head.ends_with(':') && std::ranges::count(head, ' ') <= 1;
  }
};

std::vector<Paragraph> paragraphs(const std::string& footer) {
  std::vector<Paragraph> all;
  std::istringstream in(footer);
  bool fresh = true;
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) {
      fresh = true;
    } else if (fresh) {
      all.push_back({line, {}});
      fresh = false;
    } else if (line.starts_with("  ")) {
      all.back().lines += (all.back().lines.empty() ? "" : "\n") + line;
    } else {
      all.back().head += "\n" + line;
    }
  }
  return all;
}

/// The text of an option as --help has it.
std::string option_text(const OptionHelp& help) {
  const HelpText text(0);
  std::vector<std::string> names;
  for (const std::string& name : help.names) names.push_back("\\fB" + escaped(name) + "\\fR");
  if (names.empty()) names.push_back("\\fI" + upper(escaped(help.option->get_name())) + "\\fR");
  return fmt::format(".TP\n{}{}\n{}", fmt::join(names, ", "),
                     escaped(text.make_option_opts(help.option)),
                     filled(text.make_option_desc(help.option)));
}

std::string options_text(const CommandHelp& command) {
  std::string text;
  std::vector<std::string> groups;
  for (const OptionHelp& option : command.options)
    if (std::ranges::find(groups, option.group) == groups.end()) groups.push_back(option.group);
  if (!command.positionals.empty()) text += ".SH ARGUMENTS\n";
  for (const OptionHelp& argument : command.positionals) text += option_text(argument);
  for (const std::string& group : groups) {
    const bool first = group == groups.front();
    text += first ? ".SH OPTIONS\n" : fmt::format(".SS {}\n", escaped(group));
    for (const OptionHelp& option : command.options)
      if (option.group == group) text += option_text(option);
  }
  return text;
}

std::string synopsis(const std::string& call, const CommandHelp& command, bool subcommands) {
  std::string text = ".SH SYNOPSIS\n\\fB" + escaped(call) + "\\fR";
  if (!command.options.empty()) text += " [\\fIOPTIONS\\fR]";
  for (const OptionHelp& argument : command.positionals) {
    const std::string name =
        upper(escaped(argument.option->get_name())) + (argument.is_repeated() ? "..." : "");
    text += argument.option->get_required() ? fmt::format(" \\fI{}\\fR", name)
                                            : fmt::format(" [\\fI{}\\fR]", name);
  }
  return text + (subcommands ? " \\fISUBCOMMAND\\fR\n" : "\n");
}

/// `call` is "packhorse pack", `sections` what stands between the options and the exit status.
std::string page(const std::string& call, const CommandHelp& command, bool subcommands,
                 const std::string& sections, const Release& release) {
  std::string name = call, description, examples;
  std::ranges::replace(name, ' ', '-');
  for (const Paragraph& paragraph : paragraphs(command.app->get_footer())) {
    if (paragraph.is_section()) {
      examples += fmt::format(".SH {}\n{}",
                              escaped(upper(paragraph.head.substr(0, paragraph.head.size() - 1))),
                              verbatim(paragraph.lines));
    } else {
      description += ".PP\n" + filled(paragraph.head);
      if (!paragraph.lines.empty()) description += ".PP\n" + verbatim(paragraph.lines);
    }
  }
  const std::string summary = command.app->get_description();
  return fmt::format(".TH {} 1 {} \"{}\" \"packhorse\"\n.SH NAME\n{} \\- {}\n",
                     upper(escaped(name)), release.date, escaped(release.version), escaped(name),
                     escaped(lower_first(summary))) +
         synopsis(call, command, subcommands) + ".SH DESCRIPTION\n" +
         filled(summary.ends_with('.') ? summary : summary + ".") + description +
         options_text(command) + sections + examples + kExitStatus;
}

std::string see_also(const std::vector<std::string>& names) {
  std::string text = ".SH SEE ALSO\n";
  for (const std::string& name : names)
    text += fmt::format(".BR {} (1){}\n", escaped(name), name == names.back() ? "" : ",");
  return text;
}

}  // namespace

std::string program_manual(const CLI::App& program, const Release& release) {
  std::string list = ".SH SUBCOMMANDS\n";
  std::vector<std::string> names;
  for (const CommandHelp& command : subcommands_help(program)) {
    names.push_back(program.get_name() + "-" + command.name);
    list += fmt::format(".TP\n\\fB{}\\fR\n{}", escaped(command.name),
                        filled(command.app->get_description() + "."));
  }
  return page(program.get_name(), command_help(program), true, list, release) + see_also(names);
}

std::string command_manual(const CLI::App& program, const CommandHelp& command,
                           const Release& release) {
  return page(program.get_name() + " " + command.name, command, false, {}, release) +
         see_also({program.get_name()});
}

}  // namespace packhorse::help
