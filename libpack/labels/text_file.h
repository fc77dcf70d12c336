#pragma once

#include <filesystem>
#include <string>
#include <string_view>

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

}  // namespace packhorse
