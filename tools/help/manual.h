#pragma once

#include <string>

#include "help/command_tree.h"

/// Manual pages in man(7), from what --help prints.
namespace packhorse::help {

/// What the title line of a page says.
struct Release {
  std::string version;  ///< "packhorse 0.1.0"
  std::string date;     ///< "2026-01-31"
};

/// program(1): with a list of its subcommands.
std::string program_manual(const CLI::App& program, const Release& release);
/// program-subcommand(1).
std::string command_manual(const CLI::App& program, const CommandHelp& command,
                           const Release& release);

}  // namespace packhorse::help
