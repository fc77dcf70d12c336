#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "packhorse/image/image_info.h"

namespace packhorse::program {

/// Declares --max-pixels, --max-scan-pixels and --max-decoded-bytes, which fill `limits`; `group`
/// is their heading in the help.
void add_image_limits(CLI::App& app, ImageLimits& limits, const std::string& group);

/// Whether one of these options is given.
bool has_image_limits(const CLI::App& app);

}  // namespace packhorse::program
