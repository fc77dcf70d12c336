#pragma once

#include <string>

#include "help/command_tree.h"

/// Completions of the command line for shells: subcommands, options, the choices of an option, and
/// file names where any text may stand.
namespace packhorse::help {

std::string bash_completion(const CLI::App& program);
std::string zsh_completion(const CLI::App& program);
std::string fish_completion(const CLI::App& program);

}  // namespace packhorse::help
