#pragma once

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "labels/row_reader.h"

namespace packhorse {

/// Finds what separates the cells of a table: a tab, a comma or a semicolon, whichever gives each
/// row two cells or more. Of several that do, those count that give all rows equally many cells,
/// and of these, those that make a cell of each row but the first the name of an image file; then a
/// tab. Nothing when none does. Throws Error(kUsage) when commas and semicolons are left, and for
/// broken quotes where nothing else fits.
/// Memory: one row.
std::optional<RowSyntax> find_separator(int fd, const std::filesystem::path& path);

/// What separates the cells of a table whose first row must have cells of these names (lower case,
/// compared in lower case): by which they are there. Nothing when they are there by none. `first`
/// becomes that row; else, if there is one, the row by the separator that gives it most cells.
std::optional<RowSyntax> header_syntax(int fd, const std::filesystem::path& path,
                                       std::initializer_list<std::string_view> names, Row& first);

/// "commas", "semicolons", "tabs"; "a JSON object a line" for kLines.
std::string_view name_of(const RowSyntax& syntax);

/// "3 columns", "1 column".
std::string columns_text(std::size_t columns);

}  // namespace packhorse
