#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/program.h"
#include "common/terminal.h"
#include "inspect/chart.h"
#include "packhorse/analysis/object_stats.h"
#include "packhorse/analysis/summary.h"
#include "packhorse/dataset/packed_dataset.h"

/// Describes a dataset in words.
namespace packhorse::inspect {

/// Name and value of each line of the summary, in order: the same on the terminal and in the
/// report.
using Lines = std::vector<std::pair<std::string, std::string>>;
Lines summary_lines(const PackedDataset& dataset, const Summary& summary,
                    const std::optional<ObjectStats>& objects);

std::string summary_text(const PackedDataset& dataset, const Summary& summary,
                         const std::optional<ObjectStats>& objects, const program::Style& style);

// The objects of a dataset, described in words and bars.

/// Lines of the summary. `samples`: of the dataset, of which some may not have been looked at.
Lines object_lines(const ObjectStats& stats, std::uint64_t samples);

struct ObjectChart {
  const char* title;
  std::vector<ChartRow> rows;
  std::uint64_t total = 0;  ///< of which the bars' shares are
};
std::vector<ObjectChart> object_charts(const ObjectStats& stats);

// One sample, as --list and --show print it.

program::Json sample_json(const PackedDataset& dataset, std::size_t sample);
/// "number  key  label  class  bytes  WxH  kind  path", separated by tabs.
std::string sample_line(const PackedDataset& dataset, std::size_t sample);
/// "?" for a label that has no name.
std::string class_name(const PackedDataset& dataset, std::int64_t label);

}  // namespace packhorse::inspect
