#pragma once

#include "packhorse/analysis/object_stats.h"
#include "packhorse/analysis/summary.h"
#include "packhorse/reports/report_json.h"

namespace packhorse {

/// The objects of a dataset in the commands' JSON.
ReportJson to_json(const ObjectStats& stats);

/// What `packhorse inspect --json` prints of one dataset.
ReportJson to_json(const PackedDataset& dataset, const Summary& summary,
                   const std::optional<ObjectStats>& objects);

/// The same for the datasets at `path`, from their indexes and, where they have objects, the fields
/// with the objects of kObjectsGlance images. Throws as opening them does.
ReportJson summary_report(const std::filesystem::path& path);

}  // namespace packhorse
