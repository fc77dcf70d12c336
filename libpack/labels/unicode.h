#pragma once

#include <string>
#include <string_view>

namespace packhorse {

/// A text as people compare it: letters in one case, and each encoded in one way (Unicode's NFC
/// after case folding). Bytes that are not UTF-8 stay as they are.
std::string case_folded(std::string_view text);

}  // namespace packhorse
