#pragma once

#include "packhorse/analysis/summary.h"
#include "packhorse/reports/report_json.h"

namespace packhorse {

/// What `packhorse inspect --json` prints of one dataset.
ReportJson to_json(const PackedDataset& dataset, const Summary& summary);

/// The same for the datasets at `path`, from their indexes alone. Throws as opening them does.
ReportJson summary_report(const std::filesystem::path& path);

}  // namespace packhorse
