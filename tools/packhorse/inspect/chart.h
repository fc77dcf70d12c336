#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/terminal.h"
#include "packhorse/analysis/summary.h"

/// Histograms as rows for people to read, on the terminal and in the report.
namespace packhorse::inspect {

struct ChartRow {
  std::string label;
  std::uint64_t count = 0;
};

/// Rows such as "320-383", or "32" for a bar of one value.
std::vector<ChartRow> value_rows(const ValueCounts& values);
/// Rows such as "32.0 KiB to 64.0 KiB".
std::vector<ChartRow> byte_rows(const ValueCounts& values);
/// Rows such as "4:3", from the first shape to the last one that has images.
std::vector<ChartRow> shape_rows(const Summary& summary);
/// Class sizes: every class when there are few, otherwise the largest and the smallest, with a row
/// between them that says how many are left out. Empty when all have one size.
std::vector<ChartRow> class_rows(const std::vector<std::string>& names,
                                 const std::vector<std::uint64_t>& counts);

/// "12.3 %"; a share above zero that is too small to show is "<0.1 %".
std::string share_text(std::uint64_t count, std::uint64_t total);

/// Makes one line for each row: label, count, share of `total`, and a bar; the bar of the largest
/// count fills the style's width. Rows that count nothing have no share.
std::string chart_text(const std::vector<ChartRow>& rows, std::uint64_t total,
                       const program::Style& style);

/// Draws bars as SVG, in colours of the page's style sheet. Empty for fewer than two rows.
std::string svg_chart(const std::string& title, const std::vector<ChartRow>& rows,
                      std::uint64_t total);

}  // namespace packhorse::inspect
