#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// Class lists, one name per line in the order of labels: a dataset's classes.txt.
/// read_class_file() reads lists that a person has written.
namespace packhorse {

class DatasetDirectory;
struct Manifest;

/// Class names from a text file, one per line, behind a byte order mark if it has one. Throws
/// Error(kUsage) for an empty or repeated name.
std::vector<std::string> read_class_list(const std::filesystem::path& path);
/// The same from a text without a byte order mark; `path` is for messages.
std::vector<std::string> parse_class_list(std::string_view text, const std::filesystem::path& path);
/// That of a dataset. Throws Error(kCorrupt) when it does not fit the manifest.
std::vector<std::string> classes_of(const DatasetDirectory& dataset, const Manifest& manifest);
/// The text of such a file. Throws Error(kUsage) for a name with a line break in it.
std::string class_list_text(const std::vector<std::string>& classes);

}  // namespace packhorse
