#pragma once

#include <string>

/// The version of these headers, for the preprocessor. The build takes the project's version from
/// here (CMakeLists.txt, pyproject.toml).
#define PACKHORSE_VERSION "0.1.0"
#define PACKHORSE_VERSION_MAJOR 0
#define PACKHORSE_VERSION_MINOR 1
#define PACKHORSE_VERSION_PATCH 0

namespace packhorse {

/// The version of the library that the program is linked with: PACKHORSE_VERSION of its headers.
/// Any thread.
std::string version();

}  // namespace packhorse
