#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "packhorse/base/bytes.h"

/// Pieces of an HTML page that needs no other files.
namespace packhorse::drawing {

/// Text made safe for an element or a quoted attribute: printable_text(), escaped.
std::string escaped(std::string_view text);

/// "data:image/jpeg;base64,...".
std::string jpeg_uri(Bytes jpeg);

/// A table's cell with a number, which may be HTML.
std::string number_cell(const std::string& text);
/// A square in the colour that a class has in pictures.
std::string swatch(std::size_t label);

/// A whole page, light or dark as the reader's system is: its title, a line below, and what
/// follows, as HTML.
std::string html_page(const std::string& title, const std::string& note, const std::string& body);

}  // namespace packhorse::drawing
