#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace packhorse {

/// Opens a text file to be read as UTF-8. A file that begins with the byte order mark of UTF-16 is
/// converted into memory first, line by line the same. Throws Error(kUsage), with the line, for
/// UTF-16 that is damaged or larger than 256 MiB, and for UTF-16 without a mark.
UniqueFd open_text(const std::filesystem::path& path);

/// What to do about a text that is not UTF-8.
inline constexpr const char* kConvertAdvice =
    "save it as UTF-8, or convert it: iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW, with the encoding "
    "it has";

/// A text as people compare it: letters in one case and in one form (Unicode's NFKC_Casefold), any
/// kind of blank and dash alike, without blanks around it and characters that do not show. Bytes
/// that are not UTF-8 stay as they are.
std::string case_folded(std::string_view text);

/// Class names from a text file that a person has written (--classes), one per line in the order of
/// labels: UTF-8, with a byte order mark or without, or UTF-16 with its mark. Blanks around a name
/// do not count. Throws Error(kUsage), naming the line, for an empty or repeated name, for one that
/// is not UTF-8 or has control characters, and for lines that are more than names: a header, a
/// comment, numbered or quoted names, YAML or JSON.
std::vector<std::string> read_class_file(const std::filesystem::path& path);

}  // namespace packhorse
