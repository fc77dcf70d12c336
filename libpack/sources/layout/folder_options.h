#pragma once

#include <filesystem>

#include "packhorse/sources/source.h"

namespace packhorse {

/// Throws Error(kUsage) when `options` has settings for class folders; call it for a source that
/// has none.
void refuse_folder_options(const ListOptions& options, const std::filesystem::path& source);

/// The one labels file of a source without splits whose samples have no paths to look into. Throws
/// Error(kUsage) for other ways to give labels.
std::filesystem::path only_labels_file(const LabelOptions& labels,
                                       const std::filesystem::path& source);

}  // namespace packhorse
