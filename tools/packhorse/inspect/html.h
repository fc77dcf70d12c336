#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "inspect/chart.h"
#include "packhorse/base/bytes.h"

/// Pieces of an HTML page that needs no other files.
namespace packhorse::inspect {

/// Text made safe for an element or a quoted attribute: printable_text(), escaped.
std::string escaped(std::string_view text);

/// Draws bars as SVG, in colours of the page's style sheet. Empty for fewer than two rows.
std::string svg_chart(const std::string& title, const std::vector<ChartRow>& rows,
                      std::uint64_t total);

/// "data:image/jpeg;base64,...".
std::string jpeg_uri(Bytes jpeg);

/// The page's style sheet; light or dark as the reader's system is.
std::string_view style_sheet();

}  // namespace packhorse::inspect
