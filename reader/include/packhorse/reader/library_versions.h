#pragma once

#include <string>
#include <utility>
#include <vector>

namespace packhorse::reader {

/// Name and version of each library the reader decodes with.
std::vector<std::pair<std::string, std::string>> library_versions();

}  // namespace packhorse::reader
