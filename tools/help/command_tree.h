#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

/// What man pages and completions are made of: the subcommands and options that the program itself
/// parses, so that neither can say something else than --help.
namespace packhorse::help {

struct OptionHelp {
  enum class Value { kNone, kChoice, kNumber, kText };
  const CLI::Option* option = nullptr;
  std::vector<std::string> names;  ///< "-j", "--jobs"; none for a positional argument
  std::string group;               ///< the heading it stands under
  Value value = Value::kNone;
  std::vector<std::string> choices = {};  ///< of a kChoice
  bool is_repeated() const;
};

struct CommandHelp {
  const CLI::App* app = nullptr;
  std::string name;  ///< "pack"; of the program itself: "packhorse"
  std::vector<OptionHelp> options, positionals;
};

/// The options of one App and of the option groups in it, without hidden ones. `app` must outlive
/// the result.
CommandHelp command_help(const CLI::App& app);

/// The subcommands of a program, without hidden ones, in the order of --help.
std::vector<CommandHelp> subcommands_help(const CLI::App& app);

}  // namespace packhorse::help
