#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "help/command_tree.h"

namespace packhorse::help {

/// Writes the man pages and bash's completion of a program below `folder`, in the places they have
/// below PREFIX/share: man/man1/PROGRAM.1, man/man1/PROGRAM-SUBCOMMAND.1 and
/// bash-completion/completions/PROGRAM. `version` is "packhorse 0.1.0". The pages have the date
/// SOURCE_DATE_EPOCH (reproducible-builds.org) if it is set, else today's. Throws Error(kIo).
void write_help_files(const CLI::App& program, const std::string& version,
                      const std::filesystem::path& folder);

// Manual pages in man(7), from what --help prints.

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
