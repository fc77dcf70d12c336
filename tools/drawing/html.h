#pragma once

#include <string>
#include <string_view>

#include "packhorse/base/bytes.h"

/// Pieces of an HTML page that needs no other files.
namespace packhorse::drawing {

/// Text made safe for an element or a quoted attribute: printable_text(), escaped.
std::string escaped(std::string_view text);

/// "data:image/jpeg;base64,...".
std::string jpeg_uri(Bytes jpeg);

/// The page's style sheet; light or dark as the reader's system is.
std::string_view style_sheet();

}  // namespace packhorse::drawing
