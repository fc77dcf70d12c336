#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "packhorse/image/image_info.h"

namespace packhorse::program {

/// Declares --max-pixels, --max-scan-pixels, --max-decoded-bytes and --first-frame, which fill
/// `limits`; `group` is their heading in the help.
void add_image_limits(CLI::App& app, ImageLimits& limits, const std::string& group);

/// Whether one of these options is given.
bool has_image_limits(const CLI::App& app);

/// Declares --bands and --pages-as-bands, for commands that read what is to be packed, after
/// --first-frame. With `needed`, they need that option.
void add_bands(CLI::App& app, bool& bands, bool& pages, const std::string& group,
               CLI::Option* needed = nullptr);

}  // namespace packhorse::program
