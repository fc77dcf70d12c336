#pragma once

#include <filesystem>

#include "packhorse/sources/source.h"

namespace packhorse {

/// Throws Error(kUsage) when `options` has settings for class folders; call it for a source that
/// has none.
void refuse_folder_options(const ListOptions& options, const std::filesystem::path& source);

}  // namespace packhorse
