#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace packhorse {

/// Class names from a text file that a person has written (--classes), one per line in the order of
/// labels: UTF-8, with a byte order mark or without, or UTF-16 with its mark. Blanks around a name
/// do not count. Throws Error(kUsage), naming the line, for an empty or repeated name, for one that
/// is not UTF-8 or has control characters, and for lines that are not only names: a header, a
/// comment, numbered or quoted names, YAML or JSON.
std::vector<std::string> read_class_file(const std::filesystem::path& path);

}  // namespace packhorse
