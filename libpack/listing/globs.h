#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace packhorse {

/// Whether a path matches one of the globs, as for fnmatch(3): one without '/' is matched against
/// the file name, one with '/' against the path, where '*' matches '/', too.
bool matches_any(const std::vector<std::string>& globs, const std::string& path);

/// A glob that matches that text alone.
std::string as_glob(std::string_view text);

}  // namespace packhorse
