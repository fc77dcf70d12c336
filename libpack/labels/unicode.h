#pragma once

#include <string>
#include <string_view>

namespace packhorse {

/// A text as people compare it: letters in one case and in one form (Unicode's NFKC_Casefold), any
/// kind of blank and dash alike, without blanks around it and characters that do not show. Bytes
/// that are not UTF-8 stay as they are.
std::string case_folded(std::string_view text);

}  // namespace packhorse
