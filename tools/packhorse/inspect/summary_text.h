#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/terminal.h"
#include "packhorse/analysis/object_stats.h"
#include "packhorse/analysis/summary.h"

/// Describes a dataset in words.
namespace packhorse::inspect {

/// Name and value of each line of the summary, in order: the same on the terminal and in the
/// report.
using Lines = std::vector<std::pair<std::string, std::string>>;
Lines summary_lines(const PackedDataset& dataset, const Summary& summary,
                    const std::optional<ObjectStats>& objects);

std::string summary_text(const PackedDataset& dataset, const Summary& summary,
                         const std::optional<ObjectStats>& objects, const program::Style& style);

}  // namespace packhorse::inspect
