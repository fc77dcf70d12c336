#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/output_file.h"

/// Options that name a file to write.
namespace packhorse::program {

/// Refuses, before any work, an output that would replace what the command line names to be read:
/// see refuse_replacing().
CLI::Validator replaces_no_input(const CLI::App& app, const CLI::Option* output,
                                 OutputContent content);

/// Declares one. Every option that writes a file is declared so.
template <class Path>
CLI::Option* add_output(CLI::App& app, const std::string& name, Path& path,
                        const std::string& description,
                        OutputContent content = OutputContent::kText) {
  CLI::Option* const output = app.add_option(name, path, description);
  return output->check(replaces_no_input(app, output, content));
}

}  // namespace packhorse::program
