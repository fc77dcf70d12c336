#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/terminal.h"
#include "packhorse/analysis/summary.h"

/// Histograms as rows that a person can read, for the terminal and for the report alike.
namespace packhorse::inspect {

struct ChartRow {
  std::string label;
  std::uint64_t count = 0;
};

/// "320-383", or "32" for a bar of one value.
std::vector<ChartRow> pixel_rows(const ValueCounts& values);
/// "32.0 KiB to 64.0 KiB".
std::vector<ChartRow> byte_rows(const ValueCounts& values);
/// "4:3"; from the first shape to the last that has images.
std::vector<ChartRow> shape_rows(const Summary& summary);
/// Class sizes: every class where there are few, else the largest and the smallest with a row
/// between that says how many are left out. Empty when all are of one size.
std::vector<ChartRow> class_rows(const PackedDataset& dataset);

/// "12.3 %"; what is too little to show but not nothing is "<0.1 %".
std::string share_text(std::uint64_t count, std::uint64_t total);

/// A line for each row: label, count, share of `total`, and a bar that fills the style's width for
/// the largest count. Rows that count nothing have no share.
std::string chart_text(const std::vector<ChartRow>& rows, std::uint64_t total,
                       const program::Style& style);

}  // namespace packhorse::inspect
