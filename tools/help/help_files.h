#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

namespace packhorse::help {

/// Writes the man pages and bash's completion of a program below `folder`, in the places they have
/// below PREFIX/share: man/man1/PROGRAM.1, man/man1/PROGRAM-SUBCOMMAND.1 and
/// bash-completion/completions/PROGRAM. `version` is "packhorse 0.1.0". The pages have the date
/// SOURCE_DATE_EPOCH (reproducible-builds.org) if it is set, else today's. Throws Error(kIo).
void write_help_files(const CLI::App& program, const std::string& version,
                      const std::filesystem::path& folder);

}  // namespace packhorse::help
