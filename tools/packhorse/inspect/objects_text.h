#pragma once

#include <string>
#include <vector>

#include "inspect/chart.h"
#include "inspect/summary_text.h"
#include "packhorse/analysis/object_stats.h"

/// The objects of a dataset, described in words and bars.
namespace packhorse::inspect {

/// Lines of the summary. `samples`: of the dataset, of which some may not have been looked at.
Lines object_lines(const ObjectStats& stats, std::uint64_t samples);

struct ObjectChart {
  const char* title;
  std::vector<ChartRow> rows;
  std::uint64_t total = 0;  ///< of which the bars' shares are
};
std::vector<ObjectChart> object_charts(const ObjectStats& stats);

}  // namespace packhorse::inspect
