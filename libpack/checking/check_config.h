#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_set>

#include "packhorse/checking/check.h"

namespace packhorse {

/// Adds what a file of settings says to `options`. Throws Error(kUsage), naming the file, for what
/// is not known; Error(kNotFound | kIo).
void read_check_config(const std::filesystem::path& file, CheckOptions& options);

/// What a baseline has of a finding.
std::string baseline_line(std::string_view code, std::string_view path);
/// The lines of a baseline. Throws Error(kUsage) for other lines, Error(kNotFound | kIo).
std::unordered_set<std::string> read_baseline(const std::filesystem::path& file);

}  // namespace packhorse
