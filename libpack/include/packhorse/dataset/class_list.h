#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// classes.txt of a dataset, and what --classes names: label -> class name, a line each.
namespace packhorse {

/// Class names from a text file, one a line. Throws Error(kUsage) for an empty or repeated name.
std::vector<std::string> read_class_list(const std::filesystem::path& path);
/// The same of a file's text; `path` is for messages.
std::vector<std::string> parse_class_list(std::string_view text, const std::filesystem::path& path);
/// The same file's text; throws Error(kUsage) for a name with a line break in it.
std::string class_list_text(const std::vector<std::string>& classes);

}  // namespace packhorse
