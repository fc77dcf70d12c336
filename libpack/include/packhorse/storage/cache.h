#pragma once

#include <filesystem>

namespace packhorse {

/// Where parts of remote files are kept unless a program says otherwise: $XDG_CACHE_HOME/packhorse,
/// or ~/.cache/packhorse; empty when neither is known.
std::filesystem::path default_cache_directory();

}  // namespace packhorse
