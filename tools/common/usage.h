#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "packhorse/base/error.h"

/// Words what is wrong with a command line: what, and what to type instead.
namespace packhorse::program {

/// The Error(kUsage) for a command line that `app` has refused. `words`: the command line without
/// the program's name.
Error usage_error(CLI::App& app, const CLI::ParseError& error,
                  const std::vector<std::string>& words);

/// Throws Error(kUsage) for values that CLI11 takes for others or for nothing given: empty ones,
/// which would act as if the option had not been given, negative and octal numbers, and numbers
/// that are too large.
void check_values(const CLI::App& app);

}  // namespace packhorse::program
