#include "labels/table_syntax.h"

#include <algorithm>
#include <array>
#include <vector>

#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::array kSeparators = {kTabs, kCommas, kSemicolons};

/// What a table looks like when it is cut at one of them.
struct Reading {
  RowSyntax syntax;
  bool even = true;   ///< all rows have equally many cells
  bool named = true;  ///< all rows but the first have the name of an image file
};

/// Nothing when a row has fewer than two cells.
std::optional<Reading> read_with(int fd, const std::filesystem::path& path, RowSyntax syntax) {
  Reading reading{syntax};
  RowReader rows(fd, path, syntax);
  std::size_t width = 0;
  for (Row row; rows.next(row);) {
    if (row.cells.size() < 2) return std::nullopt;
    const bool first = width == 0;
    if (first) width = row.cells.size();
    reading.even = reading.even && row.cells.size() == width;
    reading.named =
        reading.named && (first || std::ranges::any_of(row.cells, [](const std::string& cell) {
                            return naming::has_any_image_name(cell);
                          }));
  }
  return width == 0 ? std::nullopt : std::optional(reading);
}

/// Whether the first line has the separator at all. Quotes cannot be broken in a table that has
/// not.
bool begins_with(int fd, const std::filesystem::path& path, RowSyntax syntax) {
  Row line;
  return RowReader(fd, path, kLines).next(line) &&
         line.cells.front().find(syntax.separator) != std::string::npos;
}

/// Keeps the readings of which `property` holds, if there are any.
void prefer(std::vector<Reading>& readings, bool Reading::*property) {
  const auto lacks = [&](const Reading& reading) { return !(reading.*property); };
  if (!std::ranges::all_of(readings, lacks)) std::erase_if(readings, lacks);
}

}  // namespace

std::optional<RowSyntax> find_separator(int fd, const std::filesystem::path& path) {
  std::vector<Reading> readings;
  std::optional<Error> broken;
  for (const RowSyntax& syntax : kSeparators) {
    try {
      if (const auto reading = read_with(fd, path, syntax)) readings.push_back(*reading);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUsage) throw;
      if (!broken && begins_with(fd, path, syntax)) broken = error;
    }
  }
  if (readings.empty() && broken) throw *broken;
  if (readings.empty()) return std::nullopt;
  prefer(readings, &Reading::even);
  prefer(readings, &Reading::named);
  if (readings.size() == 1 || readings.front().syntax.separator == kTabs.separator)
    return readings.front().syntax;
  throw Error(ErrorKind::kUsage,
              "the cells may be separated by commas or by semicolons: every line has both", path,
              "put the cells that have one of them in quotes: \"cat; dog\"");
}

std::optional<RowSyntax> header_syntax(int fd, const std::filesystem::path& path,
                                       std::initializer_list<std::string_view> names, Row& first) {
  first = {};
  std::optional<Error> broken;
  for (const RowSyntax& syntax : kSeparators) {
    Row row;
    try {
      if (!RowReader(fd, path, syntax).next(row)) return std::nullopt;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUsage) throw;
      broken = error;
      continue;
    }
    const auto has = [&](std::string_view name) {
      return std::ranges::any_of(row.cells,
                                 [&](const std::string& cell) { return lower_case(cell) == name; });
    };
    const bool all = std::ranges::all_of(names, has);
    if (all || row.cells.size() > first.cells.size()) first = std::move(row);
    if (all) return syntax;
  }
  if (first.cells.empty() && broken) throw *broken;
  return std::nullopt;
}

std::string_view name_of(const RowSyntax& syntax) {
  if (!syntax.cells) return "a JSON object a line";
  if (syntax.separator == kTabs.separator) return "tabs";
  return syntax.separator == kCommas.separator ? "commas" : "semicolons";
}

std::string columns_text(std::size_t columns) {
  return std::to_string(columns) + (columns == 1 ? " column" : " columns");
}

}  // namespace packhorse
