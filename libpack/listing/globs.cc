#include "listing/globs.h"

#include <fnmatch.h>

#include <algorithm>

#include "listing/names.h"

namespace packhorse {

bool matches_any(const std::vector<std::string>& globs, const std::string& path) {
  const std::string name(naming::last_name(path));
  return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
    const bool whole = glob.find('/') != std::string::npos;
    return ::fnmatch(glob.c_str(), whole ? path.c_str() : name.c_str(), 0) == 0;
  });
}

std::string as_glob(std::string_view text) {
  std::string glob;
  for (const char c : text) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) glob += '\\';
    glob += c;
  }
  return glob;
}

}  // namespace packhorse
