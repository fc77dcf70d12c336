#pragma once

#include <string>
#include <utility>
#include <vector>

namespace packhorse {

/// Name and version of each library libpack runs with, as loaded at run time where the library can
/// tell.
std::vector<std::pair<std::string, std::string>> library_versions();

}  // namespace packhorse
